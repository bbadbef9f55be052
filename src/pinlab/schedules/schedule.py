"""A schedule: where, between which host lines, queued device work runs. And its short token.

``h12.d2.h31.d1`` reads: 12 host lines, then two steps of the device, 31 more lines, one more step.
``s1d2`` is two steps of stream 1. ``q1`` goes on, within the line, to the moment right after its
next submission (or the next return of a function into the middle of it). What the token does not
mention runs as late as it can: when the host waits for it. So ``h`` alone is the latest schedule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinlab.schedules.run import Runner
    from pinlab.schedules.steps import Step

Position = tuple[int, int]  # (host lines passed, submissions or returns seen since the last one)
Plan = tuple[tuple[Position, tuple[int, ...]], ...]  # where to run which streams, in order

_PART = re.compile(r"(?P<kind>h|q|d|s(?P<stream>\d+)d)(?P<count>\d*)")


@dataclass(frozen=True)
class Schedule:
    """One schedule of one program.

    Attributes:
        plan: for each position at which device work runs, the streams to step, in order.
        runner: what runs the program it belongs to, where that is known; not compared.

    >>> Schedule((((12, 0), (0, 0)), ((43, 0), (0,))))
    h12.d2.h31.d1
    >>> Schedule.parse("h3.q1.s1d2.d1").plan
    (((3, 1), (1, 1, 0)),)
    """

    plan: Plan = ()
    runner: Runner | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, token: str) -> Schedule:
        """Read a token.

        Raises:
            ValueError: naming the part that cannot be read.
            TypeError: for anything but a str.
        """
        if not isinstance(token, str):
            raise TypeError(f"a schedule is read from a str like 'h12.d2', got {token!r}")
        line = within = 0
        plan: dict[Position, tuple[int, ...]] = {}
        for text in token.split("."):
            part = _PART.fullmatch(text)
            if part is None:
                raise ValueError(f"{text!r} in schedule {token!r}: expected h5, q1, d2 or s1d2")
            count = int(part["count"] or (0 if part["kind"] == "h" else 1))
            if part["kind"] == "h":
                line, within = line + count, 0 if count else within
            elif part["kind"] == "q":
                within += count
            else:
                steps = (int(part["stream"] or 0),) * count
                plan[line, within] = plan.get((line, within), ()) + steps
        return cls(tuple(sorted(plan.items())))

    @property
    def steps(self) -> int:
        """How many device steps it places."""
        return sum(len(streams) for _, streams in self.plan)

    def with_steps(self, position: Position, streams: Iterable[int]) -> Schedule:
        """This schedule up to `position`, then these streams, then as late as possible."""
        before = [entry for entry in self.plan if entry[0] < position]
        return Schedule((*before, (position, tuple(streams))), self.runner)

    def of(self, runner: Runner) -> Schedule:
        """The same schedule, knowing its program."""
        return replace(self, runner=runner)

    def steps_taken(self) -> list[Step]:
        """Every host line and device step of this schedule in order; runs the program once.

        Raises:
            ValueError: for a schedule that was read from a token, so without a program.
        """
        if self.runner is None:
            raise ValueError(
                f"schedule {self} has no program: take it from a report, or use Prefix(program)"
            )
        with self.runner:
            _, execution = self.runner.run(self, find=False, log=True)
        execution.check_used()
        return execution.log or []

    def _parts(self) -> Iterator[str]:
        line = within = 0
        for (at_line, at_within), streams in self.plan:
            if at_line > line:
                yield f"h{at_line - line}"
                line, within = at_line, 0
            if at_within > within:
                yield f"q{at_within - within}"
                within = at_within
            for stream, run in groupby(streams):
                yield f"{f's{stream}' if stream else ''}d{len(list(run))}"

    def __str__(self) -> str:
        return ".".join(self._parts()) or "h"

    __repr__ = __str__
