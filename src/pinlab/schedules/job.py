"""One search, as the workers of an executor get it: the program, its options, the surroundings."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Any

from pinlab.schedules.execution import Execution
from pinlab.schedules.history import Alternative
from pinlab.schedules.luggage import Luggage
from pinlab.schedules.run import Runner, make_runner
from pinlab.schedules.surroundings import Surroundings
from pinlab.schedules.values import Blocked, Outcome, Raised
from pinlab.schedules.visit import Visit


@dataclass(frozen=True)
class Job:
    """What is the same for every portion of a search.

    Attributes:
        name: of this search, unique.
        module: the one that called `explore`: its lines count too.
    """

    luggage: Luggage
    module: str | None
    pieces: int
    granularity: str
    full: bool
    surroundings: Surroundings = field(default_factory=Surroundings.now)
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def of(cls, runner: Runner, full: bool, executor: Any) -> Job:
        """The job of a runner's program.

        Raises:
            UnsendableProgramError: saying why, and what to do.
        """
        luggage = Luggage(runner.program, runner.scope.trace, executor)
        return cls(luggage, runner.scope.caller, runner.pieces, runner.granularity, full)

    @property
    def by_value(self) -> bool:
        """Functions travel without their files, so a place in a message may be named otherwise."""
        return self.luggage.by_value

    def runner(self) -> Runner:
        """What runs the program in this process."""
        program, trace = self.luggage.opened()
        runner = make_runner(program, None, trace, self.pieces, self.granularity)
        if self.module is not None:
            runner.scope.count_module(self.module)
        return runner


@dataclass(frozen=True)
class First:
    """The first execution, under the latest schedule, as one process sees it.

    Positions mean the same in two processes only if these agree.

    Attributes:
        path: a digest of the lines, submissions and waits.
        outcome: what is compared of the value. alternatives: where the search goes on.
    """

    path: str
    outcome: Any
    alternatives: tuple[Alternative, ...]

    @classmethod
    def of(cls, execution: Execution, visit: Visit, by_value: bool) -> First:
        """What one process tells the other."""
        lines = [portable(entry) for entry in execution.trace]
        path = hashlib.sha256(repr(lines).encode()).hexdigest()
        key = type(visit.outcome.value).__name__ if names_places(visit.outcome, by_value) else None
        return cls(path, key or visit.outcome.key, visit.alternatives)

    def difference(self, other: First) -> str:
        """What differs, in words; empty if nothing does."""
        if self.path != other.path:
            return "it takes another path"
        if self.outcome != other.outcome:
            return "it returns another value under the same schedule"
        if self.alternatives != other.alternatives:
            return "other operations conflict with its lines"
        return ""


def portable(entry: Any) -> Any:
    """An entry of a trace without what is particular to a process."""
    head, *rest = entry
    if hasattr(head, "co_name"):
        return head.co_name, head.co_firstlineno, *rest
    return entry


def names_places(outcome: Outcome, by_value: bool) -> bool:
    """Whether the outcome may name a line in a way that only the first process knows."""
    return by_value and isinstance(outcome.value, (Raised, Blocked))
