"""Bugs of the kinds B, C, D and W that no case tells, and look-alikes that are right."""

from __future__ import annotations

import ctypes
import io
import struct
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from .variants import (
    Collection,
    Variant,
    check_found,
    check_quiet,
    device,
    gpu,
    on_device,
    pinned,
)

bug, lookalike = Collection(), Collection()


# -- B and C: the source changes while its upload is pending --------------------------------------


@bug([1, 2, 3])
def memoryview_write() -> Any:
    source = pinned(1, 2, 3)
    there = source.to(device, non_blocking=True)
    memoryview(source.numpy())[0] = 9  # culprit
    return there.tolist()


@bug([1, 2, 3])
def write_through_a_pointer() -> Any:
    source = pinned(1, 2, 3)
    there = source.to(device, non_blocking=True)
    ctypes.memset(source.data_ptr(), 0, 8)  # culprit
    return there.tolist()


@bug([1, 2, 3])
def bytes_packed_into_the_buffer() -> Any:
    source = pinned(1, 2, 3)
    there = source.to(device, non_blocking=True)
    struct.pack_into("q", memoryview(source.numpy()).cast("B"), 8, 7)  # culprit
    return there.tolist()


@bug([[1, 2], [3, 4]])
def struct_of_arrays_refilled_by_take() -> Any:
    tokens = np.array([1, 2, 3, 4])
    rows = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    steps = []
    for chosen in ([0, 1], [2, 3]):
        np.take(tokens, chosen, out=rows.numpy())  # culprit
        steps.append(rows.to(device, non_blocking=True))
    return [step.tolist() for step in steps]


@bug([3, 1, 2])
def sorted_in_place() -> Any:
    lengths = pinned(3, 1, 2)
    there = lengths.to(device, non_blocking=True)
    lengths.numpy().sort()  # culprit
    return there.tolist()


@bug([1, 2])
def written_as_out_of_an_operator() -> Any:
    source = pinned(1, 2)
    there = source.to(device, non_blocking=True)
    torch.add(torch.tensor([1, 1]), 5, out=source)  # culprit
    return there.tolist()


@bug([1, 2])
def written_through_data() -> Any:
    source = pinned(1, 2)
    there = source.to(device, non_blocking=True)
    source.data.mul_(3)  # culprit
    return there.tolist()


@bug([1, 0, 1])
def map_zeroed_in_a_backward_hook() -> Any:
    used = pinned(1, 0, 1)
    weight = torch.ones(3, device=device, requires_grad=True)

    def hook(gradient: torch.Tensor) -> None:
        used.zero_()  # culprit

    weight.register_hook(hook)
    there = used.to(device, non_blocking=True)
    (weight * 2).sum().backward()
    return there.tolist()


@bug([[1, 1], [2, 2]])
def bucket_acknowledged_before_all_ranks_took_it() -> Any:
    bucket = pinned(0)
    received = []
    for weights in (1, 2):
        bucket.fill_(weights)  # culprit
        received.append([bucket.to(device, non_blocking=True) for _ in range(2)])
    return [[one.item() for one in ranks] for ranks in received]


@bug([1, 2])
def refilled_by_a_generator() -> Any:
    source = pinned(0)

    def steps() -> Iterator[torch.Tensor]:
        for value in (1, 2):
            source[0] = value  # culprit
            yield source.to(device, non_blocking=True)

    return [one.item() for one in list(steps())]


@bug([1.0, 2.0])
def converting_upload() -> Any:
    source = pinned(1, 2)
    there = source.to(device, dtype=torch.float32, non_blocking=True)
    source += 1  # culprit
    return there.tolist()


@bug([[0, 1], [1, 2], [2, 3]])
def slab_slots_on_a_side_stream() -> Any:
    slab = torch.zeros(2, 2, dtype=torch.int64, pin_memory=True)
    side = gpu.Stream()
    uploads = []
    for step in range(3):
        slot = slab[step % 2]
        slot.copy_(torch.tensor([step, step + 1]))  # culprit
        with gpu.stream(side):
            uploads.append(slot.to(device, non_blocking=True))
    gpu.synchronize()
    return [upload.tolist() for upload in uploads]


@bug([1, 2, 3])
def event_recorded_before_the_upload() -> Any:
    source = pinned(1, 2, 3)
    uploaded = gpu.Event()
    uploaded.record()
    there = source.to(device, non_blocking=True)
    uploaded.synchronize()
    source.zero_()  # culprit
    return there.tolist()


@bug([[0], [1], [2]])
def more_events_than_slots() -> Any:
    slots = [pinned(0) for _ in range(2)]
    uploaded = [gpu.Event() for _ in range(3)]
    uploads = []
    for step in range(3):
        uploaded[step % 3].synchronize()
        slots[step % 2][0] = step  # culprit
        uploads.append(slots[step % 2].to(device, non_blocking=True))
        uploaded[step % 3].record()
    return [upload.tolist() for upload in uploads]


@bug([1, 2, 3])
def waited_for_the_wrong_stream() -> Any:
    source, side = pinned(1, 2, 3), gpu.Stream()
    with gpu.stream(side):
        there = source.to(device, non_blocking=True)
    gpu.current_stream().synchronize()
    source.zero_()  # culprit
    gpu.synchronize()
    return there.tolist()


@bug([1, 2, 3])
def a_query_is_no_wait() -> Any:
    source = pinned(1, 2, 3)
    there = source.to(device, non_blocking=True)
    uploaded = gpu.current_stream().record_event()
    uploaded.query()
    source.zero_()  # culprit
    return there.tolist()


class Runner:
    """The guard is far from the buffer: one method uploads, another one edits."""

    def __init__(self) -> None:
        self.lens = torch.zeros(3, dtype=torch.int64, pin_memory=True)
        self.rows = self.lens.numpy()
        self.uploaded = gpu.Event()

    def upload(self) -> torch.Tensor:
        return self.lens[:2].to(device, non_blocking=True)

    def condense(self) -> None:
        self.rows[1] = self.rows[2]  # culprit

    @contextmanager
    def guarded(self) -> Iterator[None]:
        self.uploaded.synchronize()
        yield
        self.uploaded.record()


@bug([5, 7])
def edited_in_another_method() -> Any:
    runner = Runner()
    runner.rows[:] = [5, 7, 9]
    there = runner.upload()
    runner.condense()
    return there.tolist()


@bug([5, 7])
def guarded_on_one_side_only() -> Any:
    runner = Runner()
    runner.rows[:] = [5, 7, 9]
    with runner.guarded():
        pass
    there = runner.upload()
    with runner.guarded():
        runner.condense()
    return there.tolist()


@lookalike([5, 7])
def guarded_on_both_sides() -> Any:
    runner = Runner()
    runner.rows[:] = [5, 7, 9]
    with runner.guarded():
        there = runner.upload()
    with runner.guarded():
        runner.condense()
    return there.tolist()


@lookalike([1, 2, 3])
def name_bound_anew() -> Any:
    source = pinned(1, 2, 3)
    there = source.to(device, non_blocking=True)
    source = source + 1
    return there.tolist()


@lookalike([[1, 3], [1, 3]])
def column_is_packed_at_the_call() -> Any:
    table = torch.tensor([[1, 2], [3, 4]]).pin_memory()
    column = table[:, 0].to(device, non_blocking=True)
    again = table[:, 0].to(device, non_blocking=True)
    table.zero_()
    return [column.tolist(), again.tolist()]


@lookalike([1, 2])
def neighbouring_rows() -> Any:
    source = pinned(1, 2, 3, 4)
    there = source[:2].to(device, non_blocking=True)
    source[2:].zero_()
    return there.tolist()


@lookalike([[0], [1], [2]])
def ring_taken_when_the_query_says_so() -> Any:
    ring = deque((pinned(0), gpu.Event()) for _ in range(2))
    uploads = []
    for step in range(3):
        slot, uploaded = ring.popleft()
        while not uploaded.query():
            pass
        slot[0] = step
        uploads.append(slot.to(device, non_blocking=True))
        uploaded.record()
        ring.append((slot, uploaded))
    return [upload.tolist() for upload in uploads]


# -- D and W: the destination of a download -------------------------------------------------------


@bug(9)
def row_of_a_landing_matrix_read_as_a_whole() -> Any:
    landing = torch.zeros(2, 2, dtype=torch.int64, pin_memory=True)
    landing[1].copy_(on_device(4, 5), non_blocking=True)
    return landing.sum().item()  # culprit


@bug([4, 5])
def array_of_a_pending_download() -> Any:
    back = on_device(4, 5).to("cpu", non_blocking=True)
    return np.asarray(back).tolist()  # culprit


@bug([4, 5])
def arrays_of_pending_downloads_joined() -> Any:
    faces = [on_device(value).to("cpu", non_blocking=True).numpy() for value in (4, 5)]
    return np.concatenate(faces).tolist()  # culprit


class CpuGpuBuffer:
    """A pinned buffer with its numpy face and its copy on the device, as engines keep them."""

    def __init__(self, size: int) -> None:
        self.cpu = torch.zeros(size, dtype=torch.int64, pin_memory=True)
        self.np = self.cpu.numpy()
        self.gpu = torch.zeros(size, dtype=torch.int64, device=device)

    def copy_to_gpu(self, start: int, stop: int) -> torch.Tensor:
        return self.gpu[start:stop].copy_(self.cpu[start:stop], non_blocking=True)


@bug([[1, 2], [3, 4]])
def engine_buffer_refilled() -> Any:
    buffer, steps = CpuGpuBuffer(4), []
    for values in ([1, 2], [3, 4]):
        buffer.np[:2] = values  # culprit
        steps.append(buffer.copy_to_gpu(0, 2) + 0)
    return [step.tolist() for step in steps]


@lookalike([[1, 2], [3, 4]])
def engine_buffer_filled_half_by_half() -> Any:
    buffer = CpuGpuBuffer(4)
    buffer.np[:2] = [1, 2]
    first = buffer.copy_to_gpu(0, 2) + 0
    buffer.np[2:] = [3, 4]
    second = buffer.copy_to_gpu(2, 4) + 0
    return [first.tolist(), second.tolist()]


@bug([1.0])
def optimizer_steps_on_a_pinned_parameter() -> Any:
    weight = torch.ones(1).pin_memory().requires_grad_()
    there = weight.detach().to(device, non_blocking=True)
    weight.grad = torch.ones(1)
    torch.optim.SGD([weight], lr=0.5).step()  # culprit
    return there.tolist()


@bug([4, 5], unseen="numpy reads through an array made before the download was queued")
def array_made_before_the_download() -> Any:
    landing = pinned(0, 0)
    values = landing.numpy()
    landing.copy_(on_device(4, 5), non_blocking=True)
    return [int(value) for value in values]


@bug(True)
def truth_of_a_pending_flag() -> Any:
    landing = torch.zeros(1, dtype=torch.bool, pin_memory=True)
    landing.copy_(on_device(4) > 3, non_blocking=True)
    return bool(landing)  # culprit


@bug([4, 5])
def copied_on_the_host_too_early() -> Any:
    back = on_device(4, 5).to("cpu", non_blocking=True)
    kept = back.clone()  # culprit
    gpu.synchronize()
    return kept.tolist()


@bug([4, 5], unseen="a memoryview is read by no function that could be watched")
def memoryview_of_a_pending_download() -> Any:
    back = on_device(4, 5).to("cpu", non_blocking=True)
    return memoryview(back.numpy()).tolist()


@bug([4, 5])
def checkpoint_saved_too_early() -> Any:
    disk = io.BytesIO()
    back = on_device(4, 5).to("cpu", non_blocking=True)
    torch.save({"weight": back}, disk)  # culprit
    disk.seek(0)
    return torch.load(disk)["weight"].tolist()


@bug([4, 5], unseen="another Python thread reads")
def read_by_a_writer_thread() -> Any:
    back = on_device(4, 5).to("cpu", non_blocking=True)
    with ThreadPoolExecutor(1) as pool:
        saved = pool.submit(lambda: back.numpy().tolist())
    return saved.result()


@bug([1, 5])
def late_bytes_land_on_an_edit() -> Any:
    counts = pinned(0, 0)
    counts.copy_(on_device(4, 5), non_blocking=True)
    counts[0] = 1  # culprit
    gpu.synchronize()
    return counts.tolist()


@bug([[1], [2]])
def two_downloads_land_in_one_buffer() -> Any:
    landing, arrived, seen = pinned(0), gpu.Event(), []
    landing.copy_(on_device(1), non_blocking=True)
    arrived.record()
    landing.copy_(on_device(2), non_blocking=True)
    arrived.synchronize()
    seen.append(landing.tolist())  # culprit
    gpu.synchronize()
    seen.append(landing.tolist())
    return seen


@lookalike([4, 5])
def sent_back_on_the_same_stream() -> Any:
    landing = pinned(0, 0)
    landing.copy_(on_device(4, 5), non_blocking=True)
    return landing.to(device, non_blocking=True).tolist()


@lookalike([4, 5])
def download_into_ordinary_memory() -> Any:
    landing = torch.zeros(2, dtype=torch.int64)
    landing.copy_(on_device(4, 5), non_blocking=True)
    return landing.tolist()


@lookalike([4, 5])
def asked_about_but_not_read() -> Any:
    back = on_device(4, 5).to("cpu", non_blocking=True)
    _asked = [back.is_pinned(), back.shape, back.numpy()[:1], torch.zeros_like(back)]
    gpu.synchronize()
    return back.tolist()


@lookalike([[4], [5]])
def download_into_a_column() -> Any:
    landing = torch.zeros(2, 2, dtype=torch.int64, pin_memory=True)
    landing[:, 1].copy_(on_device(4, 5), non_blocking=True)
    return landing[:, 1:].tolist()


@pytest.mark.parametrize("variant", bug, ids=repr)
def test_a_bug_is_found_by_the_explorer_and_located_by_hazards(variant: Variant) -> None:
    check_found(variant)


@pytest.mark.parametrize("variant", lookalike, ids=repr)
def test_a_lookalike_is_right_and_nobody_complains(variant: Variant) -> None:
    check_quiet(variant)
