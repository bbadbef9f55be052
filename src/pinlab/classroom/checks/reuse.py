"""Check 03.3: one pinned row, two uploads, right in every schedule.

A schedule that breaks an answer is named, to be replayed:

    replay(upload_both(upload_twice), "h3.d1.h2")      with replay from pinlab.schedules
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pinlab import sim
from pinlab.classroom.checks.all_schedules import explored
from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.device import pick_device
from pinlab.schedules import Report

WANTED = [1, 1, 2, 2]


def _there() -> torch.Tensor:
    return torch.zeros(2, dtype=torch.int64, device=pick_device())


class _BlockingUploads(TorchFunctionMode):
    """Notices a copy_ to the device without non_blocking."""

    found = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.copy_ and args[0].device.type != "cpu":
            self.found |= not (kwargs.get("non_blocking") or args[2:3] == (True,))
        return func(*args, **kwargs)


def upload_both(upload_twice: Callable[..., Any]) -> Callable[[], list[int]]:
    """The program of exercise 3: the learner's two uploads, then the caller writes the row."""

    def program() -> list[int]:
        row, first, second = torch.zeros(2, dtype=torch.int64, pin_memory=True), _there(), _there()
        attempt(upload_twice, row, first, second)
        row.fill_(9)
        return [*first.tolist(), *second.tolist()]

    return program


def grade_reuse(upload_twice: Any) -> Verdict:
    row, first, second = torch.zeros(2, dtype=torch.int64, pin_memory=True), _there(), _there()
    if pick_device().type != "sim":
        attempt(upload_twice, row, first, second)
        return not_answered(NEEDS_SIM)
    with sim.mode("eager"), sim.record(row=row) as run, _BlockingUploads() as copies:
        attempt(upload_twice, row, first, second)
    got = [*first.tolist(), *second.tolist()]
    if got != WANTED:
        return wrong(
            f"Even if each copy runs at once, first and second hold {got[:2]} and {got[2:]}; "
            "they should hold [1, 1] and [2, 2]. Keep the four lines of the exercise."
        )
    if sum(operation.kind == "upload" for operation in run.operations) < 2:
        return wrong(
            "Right numbers, but not from the row: keep both copies, and let the events make them "
            "safe."
        )
    if copies.found:
        return wrong(
            "A copy without non_blocking=True waits for the whole stream, so it is right, and too "
            "dear. Let both be non_blocking, and wait where it is needed.",
        )
    report = explored(upload_both(upload_twice), WANTED, upload_twice)
    if report.correct:
        return right(
            "first and second are right in every schedule, whenever the copies run, and the caller "
            "may write the row."
        )
    return _upload_broken(
        report,
        asks=any(mark.kind == "wait" for mark in run.marks),
        waits=any(event.kind == "wait" for event in run.host),
    )


def _upload_broken(report: Report, asks: bool, waits: bool) -> Verdict:
    schedule = report.counterexample
    got = next(found.value for found, ways in report.outcomes.items() if schedule in ways)
    replay = (
        f'replay(upload_both(upload_twice), "{schedule}"), with replay from pinlab.schedules and '
        "upload_both from pinlab.classroom.checks.reuse"
    )
    if not isinstance(got, list):
        return wrong(f"Under schedule “{schedule}” your function fails: {got}", see=replay)
    rows = [found.value for found in report.outcomes if isinstance(found.value, list)]
    bad = {half for row in rows for half in (0, 1) if row[2 * half :][:2] != [half + 1] * 2}
    said = f"Under schedule “{schedule}” first and second hold {got[:2]} and {got[2:]}. "
    if asks:
        return wrong(
            said + "event.wait() makes a *stream* wait. The host goes straight on.", "M7", replay
        )
    if bad == {0} and not waits:
        return wrong(
            said + "A second row does not help the first: nothing waits for its copy, and the "
            "caller writes it. That both are still referenced keeps memory, not numbers.",
            "M12",
            replay,
        )
    if waits and len(bad) == 2:
        return wrong(
            said + "You wait, but not for the copy that the next write could overtake. An event "
            "says something about a copy only if it was recorded behind it.",
            "M11",
            replay,
        )
    if bad == {0}:
        return wrong(said + "Your wait comes too late for the first copy.", "M11", replay)
    if bad == {1}:
        return wrong(
            said + "Nothing waits for the second copy, and the caller writes the row when your "
            "function returns.",
            "M11",
            replay,
        )
    return wrong(said + "Nothing waits for the copies before the row is written.", "M3", replay)
