"""What a worker of an executor does: run a portion of a search, and say what it found.

A process has one device, so a worker takes one portion at a time, whatever its threads do.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from pinlab import sim
from pinlab.schedules.history import Alternative
from pinlab.schedules.job import First, Job, names_places
from pinlab.schedules.schedule import Plan, Schedule
from pinlab.schedules.values import Outcome
from pinlab.schedules.visit import Visitor
from pinlab.sim import SimTensor
from pinlab.sim.state import accelerator, is_started

conducted: set[str] = set()  # the searches whose walk is done in this process
_one_device = threading.Lock()
_last: list[tuple[str, Workplace]] = []  # at most one: of the search that was worked for last


@dataclass(frozen=True)
class Portion:
    """Schedules for one worker.

    Attributes:
        number: of its handing out, unique in the search.
        plans: run these, in this order, and then what they lead to.
        seconds, most: stop after so long, or so many executions, but not before the first.
    """

    number: int
    plans: tuple[Plan, ...]
    seconds: float
    most: int


@dataclass(frozen=True)
class Made:
    """One execution. `outcome` is an index into the answer's; `failed` says why there is none."""

    plan: Plan
    outcome: int | None
    alternatives: tuple[Alternative, ...] = ()
    other_path: bool = False
    failed: str = ""


@dataclass
class Answer:
    """What came of a portion.

    Attributes:
        worker: machine and process. seconds: of work.
        first: what the worker saw under the latest schedule.
        made: executions. outcomes: their distinct (key, value) pairs, pickled; None for one that
            cannot be sent, or would name its places otherwise.
        refused: why nothing was run: what kind of obstacle, and words.
    """

    worker: tuple[str, int] = field(default_factory=lambda: (socket.gethostname(), os.getpid()))
    seconds: float = 0.0
    first: First | None = None
    made: list[Made] = field(default_factory=list)
    outcomes: list[bytes | None] = field(default_factory=list)
    refused: tuple[str, str] | None = None


class Workplace:
    """A program in this process, ready to be run under any schedule."""

    def __init__(self, job: Job) -> None:
        self.runner = job.runner()
        with self.runner:
            outcome, execution = self.runner.run(Schedule(), find=not job.full)
            self.visitor = Visitor(self.runner, job.full, execution)
            self.first = First.of(
                execution, self.visitor.seen((), outcome, execution), job.by_value
            )


def work(job: Job, portion: Portion) -> Answer:
    """Run a portion; called in the worker. Says in its answer whatever goes wrong."""
    if job.name in conducted and not _is_forked():
        return Answer(refused=("threads", "it runs work in the process that calls explore"))
    if _is_forked():
        return Answer(refused=("fork", "its workers are forks of a process with the device"))
    with _one_device, job.surroundings.in_force():
        try:
            place = _workplace(job)
        except _UnreadableError as error:
            return Answer(refused=("program", str(error)))
        except Exception as error:
            return Answer(refused=("start", f"{type(error).__name__}: {error}"))
        return _Work(place, job, portion).answer()


def _is_forked() -> bool:
    return is_started() and accelerator().forked


class _UnreadableError(Exception):
    """The program did not arrive."""


def _workplace(job: Job) -> Workplace:
    for name, place in _last:
        if name == job.name:
            return place
    _last.clear()
    sim.install()  # its module may make device tensors when it is imported
    try:
        job.luggage.opened()
    except Exception as error:
        raise _UnreadableError(f"it was not found there: {type(error).__name__}: {error}") from None
    _last.append((job.name, Workplace(job)))
    return _last[0][1]


class _Work:
    """The executions of one portion."""

    def __init__(self, place: Workplace, job: Job, portion: Portion) -> None:
        self.place = place
        self.by_value = job.by_value
        self.portion = portion
        self.known: dict[Outcome, int] = {}
        self.result = Answer(first=place.first)

    def answer(self) -> Answer:
        """Make them."""
        began = time.perf_counter()
        given = [Schedule(plan) for plan in reversed(self.portion.plans)]
        seen, found = set(given), list[Schedule]()
        with self.place.runner:
            while given or found:
                schedule = (given or found).pop()
                made = self._make(schedule)
                self.result.made.append(made)
                following = [schedule.with_steps(*step) for step in made.alternatives]
                found += [new for new in following if new not in seen]
                seen.update(following)
                self.result.seconds = time.perf_counter() - began
                if made.failed or len(self.result.made) >= self.portion.most:
                    break
                if self.result.seconds > self.portion.seconds:
                    break
        return self.result

    def _make(self, schedule: Schedule) -> Made:
        try:
            visit = self.place.visitor(schedule)
        except BaseException as error:  # also SystemExit: the program is free to raise it
            return Made(schedule.plan, None, failed=f"{type(error).__name__}: {error}")
        index = self.known.setdefault(visit.outcome, len(self.known))
        if index == len(self.result.outcomes):
            self.result.outcomes.append(self._packed(visit.outcome))
        return Made(schedule.plan, index, visit.alternatives, visit.other_path)

    def _packed(self, outcome: Outcome) -> bytes | None:
        if names_places(outcome, self.by_value):
            return None
        file = io.BytesIO()
        try:
            _HostValues(file, protocol=pickle.HIGHEST_PROTOCOL).dump((outcome.key, outcome.value))
        except Exception:
            return None
        return file.getvalue()


class _HostValues(pickle.Pickler):
    """Pickles values of the host; device tensors are made where they are looked at."""

    def persistent_id(self, item: Any) -> None:
        if isinstance(item, SimTensor):
            raise pickle.PicklingError("a device tensor")
