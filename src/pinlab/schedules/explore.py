"""Every schedule of a program, or enough of them to know every outcome.

The search starts with the latest schedule: device work runs only when the host waits for it. The
execution itself reports where running a piece of work *earlier* could have mattered: its bytes
changed on the host (`Execution.look`), the host might have read what it writes, the host asked how
far it got, or it conflicts with work on another stream. Each report is one more schedule to try.
When none is left, every outcome was seen: any other schedule moves work across host code or device
work that does not touch its bytes.

With ``full=True`` nothing is left out: each position times each stream that could move there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from tqdm.auto import tqdm

from pinlab import sim
from pinlab.schedules.counting import count_schedules
from pinlab.schedules.execution import Execution
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.tracer import Scope
from pinlab.schedules.values import Outcome, as_outcome

UNSET: Any = object()
GRANULARITIES = ("line", "opcode")


class NondeterministicProgramError(RuntimeError):
    """The program differs between two runs under one schedule, so nothing can be concluded."""


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
    check_arguments(program, pieces, granularity, max_schedules)
    runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)
    wanted = None if expect is UNSET else as_outcome(expect)
    search = _Search(runner, full, max_schedules)
    with runner:
        first = _run_twice(runner)
        try:
            search.all(first)
        except KeyboardInterrupt:
            search.interrupted = True
        reference = wanted or runner.run_early()[0]
    return search.report(reference, expected=wanted is not None)


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
    check_arguments(program, pieces, granularity, 1)
    schedule = token if isinstance(token, Schedule) else Schedule.parse(token)
    runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)
    with runner:
        outcome, execution = runner.run(schedule, find=False)
    execution.check_used()
    return outcome.value


class _Search:
    """Depth first over schedules; `seen` keeps one from being run twice."""

    def __init__(self, runner: Runner, full: bool, limit: int) -> None:
        self.runner = runner
        self.full = full
        self.limit = limit
        self.found: dict[Outcome, list[Schedule]] = {}
        self.explored = 0
        self.total: int | None = None
        self.one_trace = True
        self.interrupted = False
        self.stack: list[Schedule] = []
        self.seen: set[Schedule] = set()

    def all(self, first: tuple[Outcome, Execution]) -> None:
        """Run until no schedule is left or the limit is reached."""
        self.trace = first[1].trace
        self.total = count_schedules(first[1].history)
        self._take(Schedule(), *first)
        with _progress() as progress:
            while self.stack and self.explored < self.limit:
                schedule = self.stack.pop()
                self._take(schedule, *self.runner.run(schedule, find=not self.full))
                progress.update()

    def _take(self, schedule: Schedule, outcome: Outcome, execution: Execution) -> None:
        self.explored += 1
        self.found.setdefault(outcome, []).append(schedule)
        self.one_trace = self.one_trace and execution.trace == self.trace
        self.one_trace = self.one_trace and not execution.surprised
        for following in self._following(schedule, execution):
            if following not in self.seen:
                self.seen.add(following)
                self.stack.append(following)

    def _following(self, schedule: Schedule, execution: Execution) -> list[Schedule]:
        if not self.full:
            alternatives = sorted(execution.alternatives, reverse=True)
            return [schedule.with_steps(*alternative) for alternative in alternatives]
        last = schedule.plan[-1][0] if schedule.plan else (-1, 0)
        choices = [choice for choice in execution.history.choices() if choice[0] >= last]
        return [schedule.with_steps(*choice) for choice in reversed(choices)]

    def report(self, reference: Outcome, expected: bool) -> Report:
        """What was found."""
        return Report(
            found=self.found,
            explored=self.explored,
            total=self.total if self.one_trace else None,
            complete=not self.stack and not self.interrupted,
            interrupted=self.interrupted,
            reference=reference,
            expected=expected,
            full=self.full,
            runner=self.runner,
        )


def _progress() -> Any:
    """Shown after a second, in a terminal or a notebook; ``PINLAB_PROGRESS=0`` turns it off."""
    off = os.environ.get("PINLAB_PROGRESS") == "0"
    return tqdm(desc="schedules", unit="", delay=1.0, leave=False, disable=off or None)


def _run_twice(runner: Runner) -> tuple[Outcome, Execution]:
    threads = set(threading.enumerate())
    outcome, execution = runner.run(Schedule(), find=True)
    left = [thread.name for thread in threading.enumerate() if _goes_on(thread, threads)]
    if left:
        raise NondeterministicProgramError(
            f"the program left a thread running: {', '.join(left)}; join it before returning"
        )
    again, second = runner.run(Schedule(), find=False)
    difference = _difference(outcome, execution, again, second)
    if difference:
        raise NondeterministicProgramError(
            f"two runs under one schedule differ: {difference}. Seed random numbers, leave clocks "
            "out, and make buffers that the program changes inside it (only pinned and device "
            "memory is put back between runs)"
        )
    return outcome, execution


def _goes_on(thread: threading.Thread, known: set[threading.Thread]) -> bool:
    """Whether a new thread is alive and does not end by itself within half a second."""
    if thread in known or isinstance(thread, threading._DummyThread):
        return False
    thread.join(0.5)
    return thread.is_alive()


def _difference(one: Outcome, first: Execution, two: Outcome, second: Execution) -> str:
    for step, (a, b) in enumerate(zip(first.trace, second.trace, strict=False)):
        if a != b:
            return f"at step {step} the first run had {a}, the second {b}"
    if len(first.trace) != len(second.trace):
        return f"the first run took {len(first.trace)} steps, the second {len(second.trace)}"
    return f"the first returned {one}, the second {two}" if one != two else ""


def make_runner(
    program: Callable[[], Any],
    caller: FrameType | None,
    trace: Iterable[Any],
    pieces: int,
    granularity: str,
) -> Runner:
    """What runs `program`; its file and its caller's are the ones whose lines count."""
    if os.environ.get("PINLAB_DEVICE", "sim") == "cuda":
        raise sim.SimError("explore and replay need the simulated device; PINLAB_DEVICE is 'cuda'")
    sim.install()
    return Runner(program, Scope(program, caller, trace), pieces, granularity)


def check_arguments(program: Any, pieces: int, granularity: str, max_schedules: int) -> None:
    """Raise the error that names the bad argument, if there is one."""
    if not callable(program):
        raise TypeError(f"program must be a function without arguments, got {program!r}")
    if pieces < 1:
        raise ValueError(f"pieces={pieces}; it must be 1 or more")
    if granularity not in GRANULARITIES:
        raise ValueError(f"granularity={granularity!r}; known are 'line' and 'opcode'")
    if max_schedules < 1:
        raise ValueError(f"max_schedules={max_schedules}; it must be 1 or more")
