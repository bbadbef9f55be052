"""The ring: two pinned buffers, N batches; without an event, the next batch overtakes the copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab.schedules import explore

from .brute_force import count


def ring(batches: int, event: bool) -> Callable[[], list[int]]:
    """A program that sends the numbers 1 … N to the device through two pinned buffers in turn."""
    gpu = torch.get_device_module("sim")
    arrived = torch.zeros(batches, dtype=torch.int64, device="sim")

    def with_event() -> Any:
        buffers = [torch.zeros(1, dtype=torch.int64, pin_memory=True) for _ in range(2)]
        copied = [gpu.Event(), gpu.Event()]
        for n in range(batches):
            copied[n % 2].synchronize()
            buffers[n % 2].fill_(n + 1)
            arrived[n : n + 1].copy_(buffers[n % 2], non_blocking=True)
            copied[n % 2].record()
        return arrived.tolist()

    def without_event() -> Any:
        buffers = [torch.zeros(1, dtype=torch.int64, pin_memory=True) for _ in range(2)]
        for n in range(batches):
            buffers[n % 2].fill_(n + 1)
            arrived[n : n + 1].copy_(buffers[n % 2], non_blocking=True)
        return arrived.tolist()

    return with_event if event else without_event


def in_order(batches: int) -> list[int]:
    return list(range(1, batches + 1))


@pytest.mark.parametrize(("batches", "executions"), [(2, 1), (3, 2), (4, 4), (5, 9), (8, 127)])
def test_without_an_event_each_execution_is_an_outcome_of_its_own(
    batches: int, executions: int
) -> None:
    report = explore(ring(batches, event=False), expect=in_order(batches))
    assert report.complete
    assert (report.explored, len(report.outcomes)) == (executions, executions)
    assert report.correct == (batches < 3)


@pytest.mark.parametrize("batches", [2, 4, 8, 16])
def test_with_an_event_one_execution_certifies_it(batches: int) -> None:
    report = explore(ring(batches, event=True), expect=in_order(batches))
    assert (report.explored, report.correct, report.counterexample) == (1, True, None)
    assert report.total == ring_total(batches, event=True)


def test_with_an_event_eight_batches_have_millions_of_schedules() -> None:
    report = explore(ring(8, event=True))
    assert report.total is not None
    assert report.total > 1_000_000


@pytest.mark.parametrize(("batches", "event"), [(2, False), (3, False), (2, True), (3, True)])
def test_the_full_search_runs_exactly_the_total(batches: int, event: bool) -> None:
    program = ring(batches, event)
    full = explore(program, full=True)
    reduced = explore(program)
    assert full.complete
    assert full.explored == full.total == reduced.total == ring_total(batches, event)
    assert set(full.outcomes) == set(reduced.outcomes)


@pytest.mark.slow
def test_the_full_search_of_four_batches_agrees_with_the_reduced_one() -> None:
    program = ring(4, event=False)
    full, reduced = explore(program, full=True), explore(program)
    assert full.complete
    assert full.explored == reduced.total == ring_total(4, event=False)
    assert set(full.outcomes) == set(reduced.outcomes)


def ring_total(batches: int, event: bool) -> int:
    """The ring's schedules, counted by brute force from a script of what each line does."""
    script = ["line"] * (6 if event else 5)  # the buffers, a comprehension of two, the events
    for n in range(batches):
        script.append("line")  # for
        if event:
            script.append(f"wait {n % 2}" if n > 1 else "line")
        script += ["line", "queue 0"]
        if event:
            script.append(f"record 0 {n % 2}")
    return count([*script, "line", "queue 0 and wait"])


@pytest.mark.soak
@pytest.mark.parametrize(("batches", "event"), [(6, False), (5, True)])
def test_tens_of_thousands_of_schedules_agree_with_the_reduced_search(
    batches: int, event: bool
) -> None:
    program = ring(batches, event)
    full, reduced = explore(program, full=True, max_schedules=100_000), explore(program)
    assert full.complete
    assert full.explored == full.total == reduced.total == ring_total(batches, event)
    assert set(full.outcomes) == set(reduced.outcomes)
