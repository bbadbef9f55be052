"""Bugs of the kinds E to K that no case tells, and look-alikes that are right."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.casebook.c10_copies_in_the_default_stream import run as copy_and_recycle
from pinlab.detect.hazards import hazards
from pinlab.schedules import explore

from .variants import (
    UNTRACKED,
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


def double(values: torch.Tensor) -> torch.Tensor:
    return values * 2


# -- E: memory that is given back too early -------------------------------------------------------


@bug([3, 4])
def slice_that_the_allocator_cannot_recognise() -> Any:
    batch = pinned(1, 2, 3, 4)
    there = torch.from_numpy(batch.numpy()[2:]).to(device, non_blocking=True)
    del batch  # culprit
    _other = pinned(8, 8, 8, 8)
    return there.tolist()


@bug([[1], [2], [3]], UNTRACKED)
def list_of_temporaries_cleared_too_early() -> Any:
    uploads, kept = [], []
    for value in (1, 2, 3):
        kept.append(pinned(value))
        uploads.append(kept[-1].to(device, non_blocking=True))
        kept.clear()  # culprit
    return [upload.tolist() for upload in uploads]


@bug([5], UNTRACKED)
def dropped_when_a_function_returns() -> Any:
    def upload(value: int) -> torch.Tensor:
        source = pinned(value)
        return source.to(device, non_blocking=True)

    first = upload(5)  # culprit
    upload(6)
    return first.tolist()


@lookalike([[1], [2], [3]], UNTRACKED)
def list_of_temporaries_cleared_after_the_wait() -> Any:
    uploads, kept = [], []
    for value in (1, 2, 3):
        kept.append(pinned(value))
        uploads.append(kept[-1].to(device, non_blocking=True))
    gpu.synchronize()
    kept.clear()
    return [upload.tolist() for upload in uploads]


@lookalike([5])
def name_of_a_pinned_temporary_bound_anew() -> Any:
    source = pinned(5)
    there = source.to(device, non_blocking=True)
    source = pinned(6)
    return there.tolist() if source[0] else None


# -- F, G and H: streams and device memory --------------------------------------------------------


@bug(30)
def event_recorded_before_the_work() -> Any:
    side, there = gpu.Stream(), on_device(0)
    done = side.record_event()
    with gpu.stream(side):
        there.add_(3)
    done.wait()
    result = there * 10  # culprit
    gpu.synchronize()
    return result.item()


@bug(30)
def wait_in_the_wrong_direction() -> Any:
    side, there = gpu.Stream(), on_device(0)
    with gpu.stream(side):
        there.add_(3)
    side.wait_stream(gpu.current_stream())
    result = there * 10  # culprit
    gpu.synchronize()
    return result.item()


@bug([[1], [2], [3]])
def two_device_buffers_for_three_steps() -> Any:
    buffers, late, read = [on_device(0), on_device(0)], gpu.Stream(), []
    for step in (1, 2, 3):
        buffer = buffers[step % 2]
        buffer.fill_(step)  # culprit
        late.wait_stream(gpu.current_stream())
        with gpu.stream(late):
            read.append(buffer + 0)
    gpu.synchronize()
    return [one.tolist() for one in read]


@lookalike([[10], [2]])
def block_handed_out_before_the_edge_is_made() -> Any:
    side, main, source = gpu.Stream(), gpu.current_stream(), pinned(2)
    with gpu.stream(side):
        there = on_device(1)
    main.wait_stream(side)
    result = there * 10
    del there
    with gpu.stream(side):
        again = torch.empty(1, dtype=torch.int64, device=device)
    side.wait_stream(main)
    with gpu.stream(side):
        again.copy_(source, non_blocking=True)
    gpu.synchronize()
    return [result.tolist(), again.tolist()]


@lookalike(6)
def edges_over_three_streams() -> Any:
    there, first, second = on_device(1), gpu.Stream(), gpu.Stream()
    first.wait_stream(gpu.current_stream())
    with gpu.stream(first):
        there.mul_(2)
    second.wait_event(first.record_event())
    with gpu.stream(second):
        there.mul_(3)
    gpu.current_stream().wait_stream(second)
    return there.item()


@lookalike([7])
def waited_for_through_another_stream() -> Any:
    source, side = pinned(7), gpu.Stream()
    there = source.to(device, non_blocking=True)
    side.wait_stream(gpu.current_stream())
    side.synchronize()
    source.zero_()
    return there.tolist()


@lookalike([[1], [2], [3]])
def readers_waited_for_before_the_next_write() -> Any:
    buffer, late, read = on_device(0), gpu.Stream(), []
    for step in (1, 2, 3):
        gpu.current_stream().wait_stream(late)
        buffer.fill_(step)
        late.wait_stream(gpu.current_stream())
        with gpu.stream(late):
            read.append(buffer + 0)
    gpu.synchronize()
    return [one.tolist() for one in read]


@bug(7)
def two_downloads_into_one_buffer_on_two_streams() -> Any:
    landing, first, second = pinned(0), gpu.Stream(), gpu.Stream()
    three, seven = on_device(3), on_device(7)
    gpu.synchronize()
    with gpu.stream(first):
        landing.copy_(three, non_blocking=True)
    with gpu.stream(second):
        landing.copy_(seven, non_blocking=True)  # culprit
    gpu.synchronize()
    return landing.item()


@lookalike([3, 7])
def halves_of_a_new_device_buffer_on_two_streams() -> Any:
    first, second, three, seven = gpu.Stream(), gpu.Stream(), pinned(3), pinned(7)
    before = on_device(9, 9)
    del before
    there = torch.empty(2, dtype=torch.int64, device=device)
    first.wait_stream(gpu.current_stream())
    second.wait_stream(gpu.current_stream())
    with gpu.stream(first):
        there[:1].copy_(three, non_blocking=True)
    with gpu.stream(second):
        there[1:].copy_(seven, non_blocking=True)
    gpu.synchronize()
    return there.tolist()


@bug([3.0])
def gradient_cleared_while_a_side_stream_downloads_it() -> Any:
    side, landing = gpu.Stream(), torch.zeros(1, pin_memory=True)
    weight = torch.ones(1, device=device, requires_grad=True)
    (weight * 3).sum().backward()
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        landing.copy_(weight.grad, non_blocking=True)
    weight.grad.zero_()  # culprit
    gpu.synchronize()
    return landing.tolist()


# -- kernels in place, copies by address, memory of another process -------------------------------


@bug([2, 4])
def event_recorded_before_the_kernel_that_reads_in_place() -> Any:
    slot, done, results = pinned(0), gpu.Event(), []
    for value in (1, 2):
        done.synchronize()
        slot[0] = value  # culprit
        done.record()
        results.append(torch.zeros(1, dtype=torch.int64, device=device))
        sim.kernel(double, results[-1], slot)
    gpu.synchronize()
    return [result.item() for result in results]


@bug([2])
def live_view_of_a_buffer_that_is_edited() -> Any:
    host = pinned(1)
    result = sim.uva_view(host) * 2
    host[0] = 9  # culprit
    return result.tolist()


@bug([6])
def output_that_a_kernel_writes_on_the_host() -> Any:
    landing = pinned(0)
    sim.kernel(double, landing, on_device(3))
    return landing.tolist()  # culprit


@bug([[1], [2]])
def slot_copied_by_address_and_refilled() -> Any:
    slot, uploads = pinned(0), []
    for value in (1, 2):
        slot[0] = value  # culprit
        uploads.append(torch.empty(1, dtype=torch.int64, device=device))
        sim.memcpy_async(uploads[-1].data_ptr(), slot.data_ptr(), 8)
    gpu.synchronize()
    return [upload.tolist() for upload in uploads]


@lookalike([[1], [2]])
def temporaries_copied_by_address_and_kept() -> Any:
    kept, uploads = [], []
    for value in (1, 2):
        kept.append(pinned(value))
        uploads.append(torch.empty(1, dtype=torch.int64, device=device))
        sim.memcpy_async(uploads[-1], kept[-1])
    gpu.synchronize()
    kept.clear()
    return [upload.tolist() for upload in uploads]


@bug([1, 2])
def shared_bucket_refilled_before_it_was_received() -> Any:
    bucket, received = torch.zeros(1, dtype=torch.int64).share_memory_(), []
    with sim.host_register(bucket):
        for value in (1, 2):
            bucket[0] = value  # culprit
            received.append(bucket.to(device, non_blocking=True))
        gpu.synchronize()
    return [one.item() for one in received]


@pytest.mark.parametrize("variant", bug, ids=repr)
def test_a_bug_is_found_by_the_explorer_and_located_by_hazards(variant: Variant) -> None:
    check_found(variant)


@pytest.mark.parametrize("variant", lookalike, ids=repr)
def test_a_lookalike_is_right_and_nobody_complains(variant: Variant) -> None:
    check_quiet(variant)


def test_a_control_under_the_other_configuration_is_a_bug() -> None:
    report = explore(lambda: copy_and_recycle(device, copy_in_default_stream=False)[0], expect=7)
    assert sorted(report.outcomes.values_seen()) == [-1, 7]
    with sim.mode("lazy"), hazards(lines=True) as found:
        copy_and_recycle(device, copy_in_default_stream=False)
    assert ["_scratch = torch" in str(one.written_at.source) for one in found] == [True]
