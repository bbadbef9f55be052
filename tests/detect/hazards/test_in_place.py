"""What `hazards()` sees of kernels that use host memory in place, in every mode."""

from __future__ import annotations

import gc

import pytest
import torch

from pinlab import sim
from pinlab.detect.hazards import Findings, Kind, hazards

from .blame import blames, gpu

pytestmark = pytest.mark.usefixtures("each_mode")


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([5], pin_memory=True), torch.zeros(1, dtype=torch.int64, device="sim")


def test_a_write_to_any_of_the_buffers_that_a_kernel_reads() -> None:
    def program() -> None:
        table, out = pair()
        slot = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        sim.kernel(lambda t, k: t[k], out, table, slot)
        slot.fill_(0)
        table.numpy()[0] = 99
        gpu.synchronize()

    assert blames(program) == [
        (Kind.SOURCE_WRITTEN, "slot.fill_(0)"),
        (Kind.SOURCE_WRITTEN, "table.numpy()[0] = 99"),
    ]


def test_reads_and_writes_of_memory_that_a_kernel_fills() -> None:
    def program() -> None:
        landing, source = pair()
        sim.kernel(lambda s: s + 1, landing, source)
        landing.tolist()
        landing.zero_()
        gpu.synchronize()

    assert blames(program) == [
        (Kind.DESTINATION_READ, "landing.tolist()"),
        (Kind.DESTINATION_WRITTEN, "landing.zero_()"),
    ]


def test_a_mapped_view_is_watched_like_a_kernel() -> None:
    def program() -> None:
        row, _ = pair()
        view = sim.uva_view(row)
        doubled = view * 2
        row.fill_(6)
        gpu.synchronize()
        row.fill_(7)  # covered by the wait
        view.add_(doubled)
        row.item()
        gpu.synchronize()

    assert blames(program) == [
        (Kind.SOURCE_WRITTEN, "row.fill_(6)"),
        (Kind.DESTINATION_READ, "row.item()"),
    ]


def test_memory_that_is_dropped_and_handed_out_again_under_a_kernel() -> None:
    def program() -> None:
        row, out = pair()
        sim.kernel(lambda s: s + 1, out, row)
        del row
        torch.tensor([1], pin_memory=True)

    gc.collect()  # a buffer of an earlier test that died only now would be handed out instead

    assert blames(program) == [
        (Kind.FREED, "del row"),
        (Kind.REUSED, "torch.tensor([1], pin_memory=True)"),
    ]


def test_the_other_buffer_is_watched_on_when_one_is_gone() -> None:
    def program() -> None:
        table, out = pair()
        slot = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        sim.kernel(lambda t, k: t + k, out, table, slot)
        del slot
        torch.tensor([1], pin_memory=True)
        table.fill_(3)
        gpu.synchronize()

    assert blames(program)[-1] == (Kind.SOURCE_WRITTEN, "table.fill_(3)")


def test_two_streams_that_meet_in_host_memory() -> None:
    def program() -> None:
        host, source = pair()
        host.copy_(source, non_blocking=True)
        with gpu.stream(gpu.Stream()):
            sim.uva_view(host) + 0
        gpu.synchronize()

    assert blames(program) == [(Kind.UNORDERED, "sim.uva_view(host) + 0")]


def test_a_guarded_ring_and_a_kept_block_are_clean() -> None:
    def program() -> None:
        slot, out = pair()
        done = gpu.Event()
        for step in range(3):
            done.synchronize()
            slot[0] = step
            sim.kernel(lambda s: s * 10, out, slot)
            done.record()
        done.synchronize()
        del slot
        torch.tensor([1], pin_memory=True)

    assert blames(program) == []


def test_the_words_say_that_it_is_a_kernel() -> None:
    row, out = pair()
    with hazards() as found:
        sim.kernel(lambda s: s + 1, out, row)
        row.fill_(1)
        gpu.synchronize()
        sim.kernel(lambda s: s + 1, row, out)
        row.tolist()
    first, second = str(Findings(found)).splitlines()[0], str(found[1])
    assert first.startswith("write to memory that a kernel reads: row (int64[1], 8 bytes)")
    assert second.startswith("read of memory that a kernel fills: row")
    assert "kernel lambda queued at" in second
