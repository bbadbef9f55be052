"""More shapes of the casebook's kinds: rings, edges, graphs, checkpoints, other platforms."""

from __future__ import annotations

import copy
import ctypes
import io
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim

from .variants import Collection, Variant, check_found, check_quiet, device, gpu, on_device, pinned

bug, lookalike = Collection(), Collection()
PAGEABLE_LATE = sim.Platform(stage_pageable_uploads=False, pageable_downloads_block=False)


@bug([0, 1, 2, 3, 4])
def ring_of_three_with_the_wrong_modulo() -> Any:
    ring = [pinned(0) for _ in range(3)]
    events = [gpu.Event() for _ in range(3)]
    there = []
    for step in range(5):
        events[step % 3].synchronize()
        ring[step % 2][0] = step  # culprit
        there.append(ring[step % 2].to(device, non_blocking=True))
        events[step % 3].record()
    return [one.item() for one in there]


@bug([1])
def event_recorded_again_on_an_idle_stream() -> Any:
    event, source, side = gpu.Event(), pinned(1), gpu.Stream()
    there = source.to(device, non_blocking=True)
    event.record()
    event.record(side)
    event.synchronize()
    source[0] = 5  # culprit
    return there.tolist()


@bug([[1, 2], [3, 4]])
def rows_swapped_by_an_index_list() -> Any:
    rows = torch.tensor([[1, 2], [3, 4]], pin_memory=True)
    there = rows.to(device, non_blocking=True)
    rows[[0, 1]] = rows[[1, 0]]  # culprit
    return there.tolist()


@bug([1, 2])
def joined_into_the_source() -> Any:
    source = pinned(1, 2)
    there = source.to(device, non_blocking=True)
    torch.cat([torch.tensor([8]), torch.tensor([9])], out=source)  # culprit
    return there.tolist()


@bug([1, 2])
def moved_in_by_address() -> Any:
    source = pinned(1, 2)
    there = source.to(device, non_blocking=True)
    ctypes.memmove(source.data_ptr(), (ctypes.c_int64 * 2)(8, 9), 16)  # culprit
    return there.tolist()


@bug([1, 2])
def read_from_a_file_into_the_source() -> Any:
    source = pinned(1, 2)
    there = source.to(device, non_blocking=True)
    io.BytesIO(bytes(16)).readinto(source.numpy())  # culprit
    return there.tolist()


@bug([[10, 20], [30, 40]])
def view_kept_without_record_stream() -> Any:
    side, results = gpu.Stream(), []
    for value in (1, 3):
        source = pinned(0, value, value + 1)
        with gpu.stream(side):
            there = source.to(device, non_blocking=True)[1:]  # culprit
        gpu.current_stream().wait_stream(side)
        results.append(there * 10)
        del there
    return [one.tolist() for one in results]


@bug([7])
def storage_given_up_under_a_side_stream() -> Any:
    values, stash, side = on_device(7), pinned(0), gpu.Stream()
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        stash.copy_(values, non_blocking=True)
    values.set_()
    _other = torch.full((1,), -1, device=device)  # culprit
    gpu.synchronize()
    return stash.tolist()


@bug([1, 2, 3])
def list_of_uploads_cleared() -> Any:
    sources = [pinned(1), pinned(2), pinned(3)]
    there = [torch.zeros(1, dtype=torch.int64, device=device) for _ in sources]
    torch._foreach_copy_(there, sources, non_blocking=True)
    torch._foreach_zero_(sources)  # culprit
    return [one.item() for one in there]


@bug([10, 20])
def static_input_refilled_between_replays() -> Any:
    static, graph, results = pinned(0), gpu.CUDAGraph(), []
    with gpu.graph(graph):
        scaled = static.to(device, non_blocking=True) * 10
    for value in (1, 2):
        static[0] = value  # culprit
        graph.replay()
        results.append(scaled.clone())
    return [one.item() for one in results]


@bug([2.0])
def state_loaded_from_pending_downloads() -> Any:
    trained = {"weight": torch.full((1, 1), 2.0, device=device)}
    staged = {name: one.to("cpu", non_blocking=True) for name, one in trained.items()}
    model = torch.nn.Linear(1, 1, bias=False)
    model.load_state_dict(staged)  # culprit
    return model.weight.flatten().tolist()


@bug([1])
def edited_while_an_exception_is_handled() -> Any:
    source = pinned(1)
    try:
        there = source.to(device, non_blocking=True)
        raise KeyError
    except KeyError:
        source.zero_()  # culprit
    return there.tolist()


@bug([5], PAGEABLE_LATE)
def ordinary_memory_read_late() -> Any:
    source = torch.tensor([5])
    there = source.to(device, non_blocking=True)
    source[0] = 1  # culprit
    return there.tolist()


@bug([1])
def shallow_copy_of_the_source() -> Any:
    source = pinned(1)
    there = copy.copy(source).to(device, non_blocking=True)
    source.zero_()  # culprit
    return there.tolist()


@bug([2, 3])
def waited_for_an_operator_of_another_stream() -> Any:
    landing, side, ready = pinned(0, 0), gpu.Stream(), on_device(2, 3)
    gpu.synchronize()
    with gpu.stream(side):
        landing.copy_(ready, non_blocking=True)
    on_device(1).item()
    return landing.tolist()  # culprit


@bug([5, 0])
def sent_back_by_another_stream_without_an_edge() -> Any:
    landing, side = pinned(0, 0), gpu.Stream()
    landing[:1].copy_(on_device(5) + 0, non_blocking=True)
    with gpu.stream(side):
        back = landing.to(device, non_blocking=True)  # culprit
    gpu.current_stream().wait_stream(side)
    return back.tolist()


@lookalike([0, 1, 2, 3])
def ring_of_three() -> Any:
    ring = [pinned(0) for _ in range(3)]
    events = [gpu.Event() for _ in range(3)]
    there = []
    for step in range(4):
        events[step % 3].synchronize()
        ring[step % 3][0] = step
        there.append(ring[step % 3].to(device, non_blocking=True))
        events[step % 3].record()
    return [one.item() for one in there]


@lookalike([10, 20])
def static_input_refilled_after_the_event() -> Any:
    static, graph, event, results = pinned(0), gpu.CUDAGraph(), gpu.Event(), []
    with gpu.graph(graph):
        scaled = static.to(device, non_blocking=True) * 10
    for value in (1, 2):
        event.synchronize()
        static[0] = value
        graph.replay()
        event.record()
        results.append(scaled.clone())
    return [one.item() for one in results]


@lookalike([1])
def waited_for_in_finally() -> Any:
    source = pinned(1)
    try:
        there = source.to(device, non_blocking=True)
        raise KeyError
    except KeyError:
        pass
    finally:
        gpu.current_stream().synchronize()
    source.zero_()
    return there.tolist()


@lookalike([1])
def deep_copy_of_the_source() -> Any:
    source = pinned(1)
    there = copy.deepcopy(source).to(device, non_blocking=True)
    source.zero_()
    return there.tolist()


@lookalike([5, 7])
def covered_by_a_blocking_copy_of_something_else() -> Any:
    source = pinned(5, 7)
    there = source.to(device, non_blocking=True)
    np.asarray(torch.ones(1).to(device).cpu())
    source[1] = 0
    return there.tolist()


@pytest.mark.parametrize("variant", bug, ids=repr)
def test_a_bug_is_found_by_the_explorer_and_located_by_hazards(variant: Variant) -> None:
    check_found(variant)


@pytest.mark.parametrize("variant", lookalike, ids=repr)
def test_a_lookalike_is_right_and_nobody_complains(variant: Variant) -> None:
    check_quiet(variant)
