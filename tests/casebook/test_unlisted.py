"""Bugs of the same kinds that no case tells, and look-alikes that are right.

Each program is put before `explore` and `hazards`. The line that does the damage is marked.
"""

from __future__ import annotations

import ctypes
import io
import struct
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.casebook.c10_copies_in_the_default_stream import run as copy_and_recycle
from pinlab.detect.hazards import hazards
from pinlab.device import pick_device
from pinlab.schedules import explore

device = pick_device()
gpu: Any = torch.get_device_module(device)
UNTRACKED = sim.Platform(host_allocator_tracks=False)
CULPRIT = "# culprit"


@dataclass(frozen=True)
class Variant:
    """A program, its right value, and what the tools are to say."""

    program: Callable[[], Any]
    right: Any
    platform: sim.Platform
    unseen: str

    def __repr__(self) -> str:
        return self.program.__name__


BUGS: list[Variant] = []
LOOKALIKES: list[Variant] = []


def _noted(into: list[Variant], right: Any, rules: sim.Platform, unseen: str) -> Any:
    def note(program: Callable[[], Any]) -> Callable[[], Any]:
        into.append(Variant(program, right, rules, unseen))
        return program

    return note


def bug(right: Any, rules: sim.Platform = sim.Platform(), unseen: str = "") -> Any:  # noqa: B008
    """`unseen`: why `hazards` says nothing."""
    return _noted(BUGS, right, rules, unseen)


def lookalike(right: Any, rules: sim.Platform = sim.Platform()) -> Any:  # noqa: B008
    return _noted(LOOKALIKES, right, rules, "")


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, pin_memory=True)


def on_device(*values: int) -> torch.Tensor:
    return torch.tensor(values).to(device)


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


@pytest.mark.parametrize("variant", BUGS, ids=repr)
def test_a_bug_is_found_by_the_explorer_and_located_by_hazards(variant: Variant) -> None:
    with sim.platform(variant.platform):
        report = explore(variant.program, expect=variant.right)
        assert report.counterexample is not None, report.certificate()
        assert variant.right in list(report.outcomes), report.certificate()
        sim.reset()
        with sim.mode("lazy"), hazards(lines=True) as found:
            variant.program()
    lines = [one.written_at.source for one in found if isinstance(one.written_at, sim.Place)]
    assert any(CULPRIT in line for line in lines) == (not variant.unseen), str(found)


@pytest.mark.parametrize("variant", LOOKALIKES, ids=repr)
def test_a_lookalike_is_right_and_nobody_complains(variant: Variant) -> None:
    with sim.platform(variant.platform):
        report = explore(variant.program, expect=variant.right)
        assert report.correct, report.certificate()
        sim.reset()
        with sim.mode("lazy"), hazards(lines=True) as found:
            variant.program()
    assert not found, str(found)


def test_a_control_under_the_other_configuration_is_a_bug() -> None:
    report = explore(lambda: copy_and_recycle(device, copy_in_default_stream=False)[0], expect=7)
    assert sorted(report.outcomes.values_seen()) == [-1, 7]
    with sim.mode("lazy"), hazards(lines=True) as found:
        copy_and_recycle(device, copy_in_default_stream=False)
    assert ["_scratch = torch" in str(one.written_at.source) for one in found] == [True]
