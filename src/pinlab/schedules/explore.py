"""Every schedule of a program, or enough of them to know every outcome.

The search starts with the latest schedule: device work runs only when the host waits for it. The
execution itself reports where running a piece of work *earlier* could have mattered: its bytes
changed on the host, the host might have read what it writes, the host asked how far it got, or it
conflicts with work on another stream (`alternatives.py`). Each report is one more schedule to try.
When none is left, every outcome was seen: any other schedule moves work across host code or device
work that does not touch its bytes.

With ``full=True`` nothing is left out: each position times each stream that could move there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tqdm.auto import tqdm

from pinlab.schedules.counting import count_schedules
from pinlab.schedules.execution import Execution, ScheduleError
from pinlab.schedules.rehearsal import ADVICE, NondeterministicProgramError, rehearse
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner, make_runner
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome, as_outcome

UNSET: Any = object()


def explore(
    program: Callable[[], Any],
    *,
    expect: Any = UNSET,
    pieces: int = 1,
    granularity: str = "line",
    trace: Iterable[Any] = (),
    full: bool = False,
    max_schedules: int = 20_000,
) -> Report:
    """Run `program` under every schedule that can matter and report what came out.

    Args:
        program: takes nothing, returns a value that can be compared (tensors, arrays, numbers,
            containers); ordinary torch code for the simulated device.
        expect: the right value; then `report.correct` says whether it always came out.
        pieces: tear each copy into this many parts, each a step of its own.
        granularity: ``"line"``, or ``"opcode"`` for positions between Python instructions.
        trace: more functions or modules whose lines count as host steps.
        full: enumerate all schedules, without reduction.
        max_schedules: stop after so many; then `report.complete` is False and nothing is claimed.

    Raises:
        NondeterministicProgramError: if two runs under the first schedule differ.
        SimError: without the simulated device.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> device = pick_device()
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> report = explore(program, expect=[5, 7])
    >>> list(report.outcomes), report.correct, str(report.counterexample)
    ([[5, 40], [5, 7]], False, 'h')
    """
    runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)
    return search(runner, expect, full, max_schedules)


def replay(
    program: Callable[[], Any],
    token: str | Schedule,
    *,
    pieces: int = 1,
    granularity: str = "line",
    trace: Iterable[Any] = (),
) -> Any:
    """Run `program` under one schedule and return its value.

    An exception of the program comes back as `Raised(type, message)`, as in `explore`.

    Raises:
        ScheduleError: if the schedule does not fit the program.
        ValueError: if the token cannot be read.
    """
    runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)
    schedule = token if isinstance(token, Schedule) else Schedule.parse(token)
    with runner:
        outcome, execution = runner.run(schedule)
    execution.check_used()
    return outcome.value


def search(runner: Runner, expect: Any, full: bool, max_schedules: int) -> Report:
    """What `explore` does once it knows whose lines count."""
    whole = isinstance(max_schedules, int) and not isinstance(max_schedules, bool)
    if not whole or max_schedules < 1:
        raise ValueError(f"max_schedules={max_schedules!r}; it must be a whole number from 1")
    found = _Search(runner, full, max_schedules)
    wanted = None if expect is UNSET else as_outcome(expect)
    with runner:
        first = rehearse(runner)
        reference = runner.run_early()[0] if wanted is None else wanted
        try:
            found.all(first)
        except KeyboardInterrupt:
            found.interrupted = True
    return found.report(reference, expected=wanted is not None)


class _Search:
    """Depth first over schedules; `seen` keeps one from being run twice."""

    def __init__(self, runner: Runner, full: bool, limit: int) -> None:
        self.runner = runner
        self.full = full
        self.limit = limit
        self.found: dict[Outcome, list[Schedule]] = {}
        self.explored = 0
        self.total: int | None = None
        self.interrupted = False
        self.stack: list[Schedule] = []
        self.seen: set[Schedule] = set()

    def all(self, first: tuple[Outcome, Execution]) -> None:
        """Run until no schedule is left or the limit is reached."""
        self.trace = first[1].trace
        self.total = count_schedules(first[1].history)
        self._take(Schedule(), *first)
        off = os.environ.get("PINLAB_PROGRESS") == "0"
        with tqdm(desc="schedules", delay=1.0, leave=False, disable=off or None) as progress:
            while self.stack and self.explored < self.limit:
                schedule = self.stack.pop()
                self._take(schedule, *self._run(schedule))
                progress.update()

    def _run(self, schedule: Schedule) -> tuple[Outcome, Execution]:
        try:
            outcome, execution = self.runner.run(schedule, find=not self.full)
            execution.check_used()
        except ScheduleError as error:  # it fitted the run that it was found in
            raise NondeterministicProgramError(f"{error}. {ADVICE}") from error
        return outcome, execution

    def _take(self, schedule: Schedule, outcome: Outcome, execution: Execution) -> None:
        self.explored += 1
        self.found.setdefault(outcome, []).append(schedule)
        if execution.trace != self.trace or execution.alternatives.surprised:
            self.total = None  # it was counted for one trace
        for following in self._following(schedule, execution):
            if following not in self.seen:
                self.seen.add(following)
                self.stack.append(following)

    def _following(self, schedule: Schedule, execution: Execution) -> list[Schedule]:
        if not self.full:
            alternatives = sorted(execution.alternatives.found, reverse=True)
            return [schedule.with_steps(*alternative) for alternative in alternatives]
        last = schedule.plan[-1][0] if schedule.plan else (-1, 0)
        choices = [choice for choice in execution.history.choices() if choice[0] >= last]
        return [schedule.with_steps(*choice) for choice in reversed(choices)]

    def report(self, reference: Outcome, expected: bool) -> Report:
        """What was found."""
        return Report(
            found=self.found,
            explored=self.explored,
            total=self.total,
            complete=not self.stack and not self.interrupted,
            interrupted=self.interrupted,
            reference=reference,
            expected=expected,
            full=self.full,
            runner=self.runner,
        )
