"""Check 03.4: fetch a result without waiting, and have it right in every schedule.

A schedule that breaks an answer is named, to be replayed:

    replay(fetch_both(start, finish), "h2.d1")      with replay from pinlab.schedules
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pinlab import sim
from pinlab.classroom.checks.all_schedules import explored
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.device import pick_device
from pinlab.schedules import Report

WANTED, TRIPLED = [6, 10, 4], [9, 15, 6]


def fetch_both(
    start: Callable[..., Any], finish: Callable[..., Any], times: int = 2
) -> Callable[[], Any]:
    """The program of exercise 4: start the fetch, let the device go on, then finish it."""

    def program() -> Any:
        result = torch.tensor([3, 5, 2]).to(pick_device()) * times
        pending = attempt(start, result)
        result.fill_(0)  # queued behind the download, so it does no harm
        got = attempt(finish, pending)
        return _as_list(got)

    return program


def _as_list(got: Any) -> Any:
    """Numbers in any usual form as a list of ints; anything else as it is.

    >>> _as_list((6, 10.0)), _as_list(torch.tensor([4])), _as_list("6")
    ([6, 10], [4], '6')
    """
    if isinstance(got, (torch.Tensor, np.ndarray)):
        got = got.tolist()
    if not isinstance(got, (list, tuple)):
        return got
    numbers = [part.item() if isinstance(part, torch.Tensor) else part for part in got]
    whole = all(isinstance(n, (int, float, np.number)) and float(n).is_integer() for n in numbers)
    return [int(n) for n in numbers] if whole else list(got)


def grade_fetch(pair: Any) -> Verdict:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return wrong("The check takes both functions: check_03_4((start, finish)).")
    start, finish = pair
    if is_stub(start) or is_stub(finish):
        return not_answered("check_03_4.hint() gives a first hint.")
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    misfit = _start_misfit(start)
    if misfit is not None:
        return misfit
    report = explored(fetch_both(start, finish), WANTED, start, finish)
    if report.correct:
        with sim.mode("eager"):
            tripled = fetch_both(start, finish, times=3)()
        if tripled != TRIPLED:
            return wrong(
                f"Of a result of {TRIPLED} finish() returns {tripled}. Return what the download "
                "brought."
            )
        return right(
            f"{WANTED} in every schedule, whenever the download runs, and start() let the host go "
            "on."
        )
    return _fetch_broken(report, _lets_a_stream_wait(start, finish))


def _start_misfit(start: Callable[..., Any]) -> Verdict | None:
    result = torch.ones(3, dtype=torch.int64, device=pick_device())
    with sim.mode("lazy"), sim.record() as run:
        pending = attempt(start, result)
    if pending is None or pending is ...:
        return not_answered("start() returned nothing; finish() will need what it began.")
    if any(event.kind == "wait" for event in run.host):
        return wrong(
            "start() waited for the device, so nothing is asynchronous any more. A download waits "
            "unless its target is pinned, whatever non_blocking says.",
            "M5",
            "out.is_pinned() in start()",
        )
    if not any(op.kind == "download" for op in run.operations):
        return wrong("start() queues no download: the bytes are still to be asked for.")
    return None


def _lets_a_stream_wait(start: Callable[..., Any], finish: Callable[..., Any]) -> bool:
    with sim.mode("eager"), sim.record() as run:
        fetch_both(start, finish)()
    return any(mark.kind == "wait" for mark in run.marks)


def _fetch_broken(report: Report, stream_waits: bool) -> Verdict:
    schedule = report.counterexample
    got = next(found.value for found, ways in report.outcomes.items() if schedule in ways)
    replay = (
        f'replay(fetch_both(start, finish), "{schedule}"), with replay from pinlab.schedules and '
        "fetch_both from pinlab.classroom.checks.fetch"
    )
    said = "what the buffer held before" if _is_fill(got) else got
    if got == [0, 0, 0] and len(report.outcomes) == 1:
        return wrong(
            f"finish() returns {got}: it asks the device anew, and the device has gone on. "
            "Return what the download brought."
        )
    under = f"Under schedule “{schedule}” finish() returns {said}, should be {WANTED}. "
    if stream_waits:
        return wrong(
            under + "event.wait() makes a *stream* wait. The host goes straight on and looks.",
            "M7",
            replay,
        )
    return wrong(
        under
        + "It looks before the download has written: returning from copy_ says only that it was "
        "queued.",
        "M3",
        replay,
    )


def _is_fill(got: Any) -> bool:
    """Whether these are bytes that nobody has written: the allocator's recognisable fill."""
    fill = torch.empty(1, dtype=torch.int64, pin_memory=True).item()
    return isinstance(got, list) and fill != 0 and set(got) == {fill}
