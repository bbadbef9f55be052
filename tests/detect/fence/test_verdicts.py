"""What the fence catches, one test a row of the table in docs/fence.md.

Each program runs in children of this process; a row names the line and the verdict.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator

import pytest
import torch

from pinlab import sim
from pinlab.detect.fence import FenceReport, fence
from pinlab.detect.hazards import Kind
from pinlab.device import pick_device

device = pick_device()
gpu = torch.get_device_module(device)


@pytest.fixture(autouse=True)
def _rested() -> Iterator[None]:
    sim.reset()
    yield
    sim.reset()


def hits(report: FenceReport) -> list[tuple[Kind, str]]:
    assert report.complete, report
    return [(access.kind, access.accessed_at.source) for access in report.hits]


def misses(report: FenceReport) -> list[str]:
    return [access.accessed_at.source for access in report.misses]


@pytest.mark.parametrize("mode", ["eager", "lazy", "threaded"])
def test_writes_to_an_uploads_source_are_caught_in_every_mode(mode: str) -> None:
    def program() -> None:
        row = torch.tensor([5, 7, 9], pin_memory=True)
        face = row.numpy()
        there = row.to(device, non_blocking=True)
        face[1] = 7  # what stands there already
        face[2] = 40
        memoryview(face)[0] = 5
        there.tolist()

    with sim.mode(mode):
        report = fence(program)
    equal, other, _ = report.hits
    assert hits(report) == [
        (Kind.SOURCE_WRITTEN, "face[1] = 7  # what stands there already"),
        (Kind.SOURCE_WRITTEN, "face[2] = 40"),
        (Kind.SOURCE_WRITTEN, "memoryview(face)[0] = 5"),
    ]
    assert equal.buffer.name == other.buffer.name == "row"
    assert equal.queued_at.source == "there = row.to(device, non_blocking=True)"
    assert other.allocated_at is not None
    assert other.allocated_at.source == "row = torch.tensor([5, 7, 9], pin_memory=True)"
    assert (equal.before, equal.after) == (b"", b"")
    assert (other.before[0], other.after[0]) == (9, 40)


def test_c_code_and_system_calls_are_caught() -> None:
    def program() -> None:
        row = torch.zeros(8, dtype=torch.uint8, pin_memory=True)
        there = row.to(device, non_blocking=True)
        ctypes.memset(row.data_ptr() + 3, 0, 2)
        out, into = os.pipe()
        os.write(into, b"12")
        os.readv(out, [row.numpy()[:2]])
        there.tolist()

    report = fence(program)
    assert [line for _, line in hits(report)] == [
        "ctypes.memset(row.data_ptr() + 3, 0, 2)",
        "os.readv(out, [row.numpy()[:2]])",
    ]
    assert report.hits[1].after == b"12"


def test_numpy_reads_of_a_pending_destination_are_caught_through_an_old_face() -> None:
    def program() -> None:
        landing = torch.zeros(3, pin_memory=True)
        face = landing.numpy()
        landing.copy_(torch.ones(3, device=device), non_blocking=True)
        face.sum()
        gpu.synchronize()
        face.min()

    assert hits(fence(program)) == [(Kind.DESTINATION_READ, "face.sum()")]


def test_a_hit_after_misses_is_still_found_on_the_same_line_and_later() -> None:
    def program() -> None:
        rows = torch.zeros(8, dtype=torch.int32, pin_memory=True)
        face = rows.numpy()
        there = rows[2:6].to(device, non_blocking=True)
        face[1] = 5
        face[7] = 5
        face[:3] = 0
        face[6:] = face[2:4]
        face[5] = 1
        there.tolist()

    report = fence(program)
    lines = [line for _, line in hits(report)]
    assert lines == ["face[:3] = 0", "face[5] = 1"]
    assert misses(report) == ["face[1] = 5", "face[7] = 5", "face[6:] = face[2:4]"]


def test_reads_beside_a_pending_destination_are_told_from_reads_of_it() -> None:
    def program() -> None:
        there = torch.arange(8, device=device)
        landing = torch.zeros(8, dtype=torch.int64, pin_memory=True)
        face = landing.numpy()
        landing[2:4].copy_(there[2:4], non_blocking=True)
        face[0] + face[1]
        face[6] + face[7]
        face[1:].sum()
        face[7] + face[3]
        gpu.synchronize()

    report = fence(program)
    assert [line for _, line in hits(report)] == ["face[1:].sum()", "face[7] + face[3]"]
    assert misses(report) == ["face[0] + face[1]", "face[6] + face[7]"]


def test_many_writes_to_the_neighbouring_row_cost_one_more_run_or_two() -> None:
    def program() -> None:
        rows = torch.zeros(2, 64, pin_memory=True)
        there = rows[0].to(device, non_blocking=True)
        for column in range(64):
            rows[1, column] = column
        there.tolist()

    report = fence(program)
    assert not hits(report)
    assert misses(report) == ["rows[1, column] = column"]
    assert report.runs <= 3


def test_host_writes_to_a_destination_and_reads_of_a_source() -> None:
    def program() -> None:
        state = torch.tensor([9, 9, 9], pin_memory=True)
        face = state.numpy()
        there = state.to(device, non_blocking=True)
        face.sum()  # the device reads as well: no harm
        gpu.synchronize()
        state.copy_(there + 1, non_blocking=True)
        face[0] = 1
        gpu.synchronize()

    assert hits(fence(program)) == [(Kind.DESTINATION_WRITTEN, "face[0] = 1")]


def test_waits_events_and_true_queries_end_it() -> None:
    def program() -> None:
        row = torch.tensor([1, 2, 3], pin_memory=True)
        for value in range(3):
            row.fill_(value)
            row.to(device, non_blocking=True)
            done = gpu.current_stream().record_event()
            if value:
                done.synchronize()
            while not done.query():
                pass
        row.to(device)
        row.fill_(9)

    report = fence(program)
    assert not hits(report)
    assert not report.misses
    assert report.runs == 1


def test_a_block_that_the_allocator_hands_out_again_is_no_hazard() -> None:
    def program() -> None:
        for value in range(4):
            torch.full((3,), value).pin_memory().to(device, non_blocking=True)
            while sim.pending():
                pass  # it has run, but nobody has waited for it

    assert not hits(fence(program))


def test_a_block_handed_out_while_an_unknown_copy_uses_it_is_one() -> None:
    def program() -> None:
        with sim.platform(sim.Platform(host_allocator_tracks=False)):
            there = torch.tensor([5, 6]).pin_memory().to(device, non_blocking=True)
            torch.tensor([7, 8]).pin_memory()
            there.tolist()

    assert [line for _, line in hits(fence(program))] == ["torch.tensor([7, 8]).pin_memory()"]


def test_buffers_from_before_and_kernels_that_use_host_memory_in_place() -> None:
    row = torch.tensor([1, 2], pin_memory=True)
    row.to(device).tolist()  # the device knows the buffer already, by its first mapping

    def program() -> None:
        out = torch.empty(2, dtype=torch.int64, device=device)
        sim.kernel(lambda values: values * 10, out, row)
        row[0] = 7
        out.tolist()
        doubled = sim.uva_view(row) * 2
        row[1] = 7
        doubled.tolist()

    report = fence(program)
    assert [line for _, line in hits(report)] == ["row[0] = 7", "row[1] = 7"]
    assert report.hits[0].operation.startswith("kernel ")
    assert row.tolist() == [1, 2]  # the child's writes stay in the child


def test_another_python_threads_write_is_caught_on_its_line() -> None:
    def program() -> None:
        row = torch.zeros(2, pin_memory=True)
        there = row.to(device, non_blocking=True)

        def other() -> None:
            row.numpy()[0] = 1

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        there.tolist()

    assert hits(fence(program)) == [(Kind.SOURCE_WRITTEN, "row.numpy()[0] = 1")]


def test_registered_and_pageable_memory_is_not_fenced() -> None:
    def program() -> None:
        arena = torch.zeros(2)
        with sim.host_register(arena):
            there = arena.to(device, non_blocking=True)
            arena[0] = 1
            there.tolist()

    assert not hits(fence(program))
