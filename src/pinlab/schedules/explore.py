"""Every schedule of a program, or enough of them to know every outcome.

The search starts with the latest schedule: device work runs only when the host waits for it. The
execution itself reports where running a piece of work *earlier* could have mattered: its bytes
changed on the host, the host might have read what it writes, the host asked how far it got, or it
conflicts with work on another stream (`alternatives.py`). Each report is one more schedule to try.
When none is left, every outcome was seen: any other schedule moves work across host code or device
work that does not touch its bytes.

With ``full=True`` nothing is left out: each position times each stream that could move there.

With ``executor=…`` other processes run the schedules (`crew.py`); the report is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pinlab.schedules.counting import count_schedules
from pinlab.schedules.crew import Crew
from pinlab.schedules.execution import Execution
from pinlab.schedules.job import First, Job
from pinlab.schedules.rehearsal import rehearse
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner, make_runner
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.search import Search
from pinlab.schedules.values import Outcome, as_outcome
from pinlab.schedules.visit import Visitor

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
    executor: Any = None,
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
        executor: of processes, with the `submit` of `concurrent.futures` (a `ProcessPoolExecutor`
            that spawns, `dask.distributed.Client().get_executor()`); they run the schedules.

    Raises:
        NondeterministicProgramError: if two runs under the first schedule differ.
        UnsendableProgramError: if there is an executor and the program cannot be sent to it.
        LostWorkerError: if the executor lost a worker and cannot go on.
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
    return search(runner, expect, full, max_schedules, executor)


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


def search(
    runner: Runner, expect: Any, full: bool, max_schedules: int, executor: Any = None
) -> Report:
    """What `explore` does once it knows whose lines count."""
    whole = isinstance(max_schedules, int) and not isinstance(max_schedules, bool)
    if not whole or max_schedules < 1:
        raise ValueError(f"max_schedules={max_schedules!r}; it must be a whole number from 1")
    if executor is not None:
        _check_executor(executor)
    found = Search(max_schedules)
    wanted = None if expect is UNSET else as_outcome(expect)
    with runner:
        first = rehearse(runner)
        reference = runner.run_early()[0] if wanted is None else wanted
        try:
            _walk(found, runner, full, first, executor)
        except KeyboardInterrupt:
            found.interrupted = True
    return found.report(reference, wanted is not None, full, runner)


def _walk(
    found: Search, runner: Runner, full: bool, first: tuple[Outcome, Execution], executor: Any
) -> None:
    outcome, execution = first
    here = Visitor(runner, full, execution)
    visit = here.seen((), outcome, execution)
    total = count_schedules(execution.history)
    if executor is None:
        found.all(visit, total, here)
        return
    job = Job.of(runner, full, executor)
    seen = First.of(execution, visit, job.by_value)
    with Crew(executor, job, seen, here, found.limit) as crew:
        crew.expect(Schedule(), visit.alternatives)
        found.all(visit, total, crew)


def _check_executor(executor: Any) -> None:
    """Refuse what cannot be an executor, and threads, before anything is run.

    Raises:
        TypeError: naming what it got.
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor={executor!r}; it must be an object with submit(), as in concurrent.futures"
        )
    if isinstance(executor, ThreadPoolExecutor):
        raise TypeError(
            "executor is a ThreadPoolExecutor; a process has one device, so threads cannot share "
            "a search: use a ProcessPoolExecutor or a Dask cluster"
        )
