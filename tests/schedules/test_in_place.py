"""Kernels that use host memory in place, under every schedule: reduced and full search agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore

from .both_searches import outcomes

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def ring(slots: int, guarded: bool, use: Callable[[torch.Tensor, torch.Tensor], None]) -> Any:
    """Slots that are refilled in turn and read in place, one step more than there are slots."""

    def program() -> Any:
        ring = [torch.zeros(1, dtype=torch.int64, pin_memory=True) for _ in range(slots)]
        done = [gpu.Event() for _ in ring]
        results = []
        for step in range(slots + 1):
            if guarded:
                done[step % slots].synchronize()
            ring[step % slots][0] = step
            out = torch.empty(1, dtype=torch.int64, device="sim")
            use(out, ring[step % slots])
            done[step % slots].record()
            results.append(out)
        gpu.synchronize()
        return [out.item() for out in results]

    return program


def by_kernel(out: torch.Tensor, slot: torch.Tensor) -> None:
    sim.kernel(lambda s: s * 10, out, slot)


def by_view(out: torch.Tensor, slot: torch.Tensor) -> None:
    torch.mul(sim.uva_view(slot), 10, out=out)


@pytest.mark.parametrize("use", [by_kernel, by_view])
def test_a_ring_of_slots_read_in_place_is_right_only_with_events(use: Any) -> None:
    report = explore(ring(2, guarded=True, use=use), expect=[0, 10, 20])
    assert report.correct
    report = explore(ring(2, guarded=False, use=use), expect=[0, 10, 20])
    assert [20, 10, 20] in report.outcomes
    assert str(report.counterexample) == "h"
    assert outcomes(ring(1, guarded=False, use=use)) == [[0, 10], [10, 10]]


def test_a_table_and_an_index_are_two_races() -> None:
    def program() -> Any:
        table = torch.tensor([11, 22], pin_memory=True)
        slot = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        out = torch.zeros(1, dtype=torch.int64, device="sim")
        sim.kernel(lambda t, k: t[k], out, table, slot)
        table.numpy()[0] = 99
        slot[0] = 1
        return out.item()

    assert outcomes(program) == [11, 22, 99]


@pytest.mark.parametrize("in_place", ["kernel", "uva_view"])
def test_host_memory_that_the_device_fills_is_read_too_early(in_place: str) -> None:
    def program() -> Any:
        landing = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        source = torch.tensor([3]).to("sim")
        if in_place == "kernel":
            sim.kernel(lambda s: s + 1, landing, source)
        else:
            torch.add(source, 1, out=sim.uva_view(landing))
        seen = landing.item()
        gpu.synchronize()
        return seen, landing.item()

    assert outcomes(program) == [(0, 4), (4, 4)]


def test_an_upload_into_mapped_host_memory_is_a_landing_as_well_also_when_torn() -> None:
    def program() -> Any:
        landing = torch.zeros(2, dtype=torch.int64, pin_memory=True)
        source = torch.tensor([3, 4], pin_memory=True)
        view = sim.uva_view(landing)
        view.copy_(source, non_blocking=True)
        seen = landing.tolist()
        gpu.synchronize()
        return seen

    assert outcomes(program) == [[0, 0], [3, 4]]
    assert outcomes(program, pieces=2) == [[0, 0], [3, 0], [3, 4]]


def test_two_streams_that_meet_in_host_memory_need_an_event() -> None:
    def program(edge: bool) -> Callable[[], Any]:
        def run() -> Any:
            host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
            source, side = torch.tensor([3]).to("sim"), gpu.Stream()
            host.copy_(source, non_blocking=True)
            if edge:
                side.wait_stream(gpu.current_stream())
            with gpu.stream(side):
                back = sim.uva_view(host) + 0
            gpu.synchronize()
            return back.item()

        return run

    assert outcomes(program(edge=False)) == [0, 3]
    assert outcomes(program(edge=True)) == [3]


def test_a_dropped_block_is_recycled_under_a_queued_kernel() -> None:
    def program(keep: bool) -> Callable[[], Any]:
        def run() -> Any:
            out = torch.empty(1, dtype=torch.int64, device="sim")
            slot = torch.tensor([1], pin_memory=True)
            sim.kernel(lambda s: s * 10, out, slot)
            kept = slot if keep else None
            del slot
            other = torch.tensor([2], pin_memory=True)
            gpu.synchronize()
            return out.item(), other.item(), kept is None

        return run

    assert outcomes(program(keep=False)) == [(10, 2, True), (20, 2, True)]
    assert outcomes(program(keep=True)) == [(10, 2, False)]


def test_the_lines_of_the_kernel_are_no_lines_of_the_host() -> None:
    def program() -> Any:
        def kernel_in_two_lines(row: torch.Tensor) -> torch.Tensor:
            doubled = row * 2
            return doubled + 1

        row = torch.tensor([1], pin_memory=True)
        out = torch.zeros(1, dtype=torch.int64, device="sim")
        sim.kernel(kernel_in_two_lines, out, row)
        row[0] = 5
        return out.item()

    assert outcomes(program) == [11, 3]
