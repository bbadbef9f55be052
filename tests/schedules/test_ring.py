"""The ring: two pinned buffers, N batches; without an event, the next batch overtakes the copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from pinlab.schedules import explore

from .brute_force import count
from .sent_programs import ring as ring_of


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


# One buffer: Catalan numbers. Two: Motzkin numbers. One, torn in two: binomial(3n, n) / (2n + 1).
@pytest.mark.parametrize(
    ("size", "batches", "pieces", "executions"),
    [
        *((1, n, 1, catalan) for n, catalan in enumerate((2, 5, 14, 42, 132), 2)),
        *((2, n, 1, motzkin) for n, motzkin in enumerate((1, 2, 4, 9, 21, 51), 2)),
        *((3, n, 1, some) for n, some in enumerate((1, 1, 2, 4, 8, 17, 37), 2)),
        *((4, n, 1, some) for n, some in enumerate((2, 4, 8, 16, 33), 5)),
        *((1, n, 2, some) for n, some in enumerate((3, 12, 55), 2)),
        *((2, n, 2, some) for n, some in enumerate((1, 3, 9, 30), 2)),
        *((3, n, 2, some) for n, some in enumerate((1, 1, 3, 9, 27), 2)),
    ],
)
def test_rings_of_any_size_take_one_execution_an_outcome(
    size: int, batches: int, pieces: int, executions: int
) -> None:
    report = explore(partial(ring_of, batches, size, pieces), pieces=pieces)
    assert report.complete
    assert (report.explored, len(report.outcomes)) == (executions, executions)


@pytest.mark.parametrize(("size", "batches", "pieces"), [(1, 3, 1), (1, 2, 2)])
def test_the_full_search_of_a_ring_has_no_further_outcome(
    size: int, batches: int, pieces: int
) -> None:
    program = partial(ring_of, batches, size, pieces)
    full = explore(program, full=True, pieces=pieces)
    assert full.complete
    assert len(full.outcomes) == explore(program, pieces=pieces).explored


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
