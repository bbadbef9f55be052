"""The walk over schedules, depth first. Who runs them is no matter of it: here, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable

from tqdm.auto import tqdm

from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome
from pinlab.schedules.visit import Visit


class Search:
    """Depth first over schedules; `seen` keeps one from being taken twice.

    The report depends on the order of the walk (which schedules come before the limit, which
    outcome was seen first), and the walk on the visits alone: not on who made them, nor when.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.found: dict[Outcome, list[Schedule]] = {}
        self.explored = 0
        self.total: int | None = None
        self.interrupted = False
        self.stack: list[Schedule] = []
        self.seen: set[Schedule] = set()

    def all(self, first: Visit, total: int | None, visit: Callable[[Schedule], Visit]) -> None:
        """Walk until no schedule is left or the limit is reached.

        Args:
            first: the visit of the latest schedule. total: the size of the full space.
            visit: gives the visit of any other schedule.
        """
        self.total = total
        self._take(Schedule(), first)
        off = os.environ.get("PINLAB_PROGRESS") == "0"
        with tqdm(desc="schedules", delay=1.0, leave=False, disable=off or None) as progress:
            while self.stack and self.explored < self.limit:
                schedule = self.stack.pop()
                self._take(schedule, visit(schedule))
                progress.update()

    def _take(self, schedule: Schedule, visit: Visit) -> None:
        self.explored += 1
        self.found.setdefault(visit.outcome, []).append(schedule)
        if visit.other_path:
            self.total = None  # it was counted for one path
        for alternative in visit.alternatives:
            following = schedule.with_steps(*alternative)
            if following not in self.seen:
                self.seen.add(following)
                self.stack.append(following)

    def report(self, reference: Outcome, expected: bool, full: bool, runner: Runner) -> Report:
        """What was found."""
        return Report(
            found=self.found,
            explored=self.explored,
            total=self.total,
            complete=not self.stack and not self.interrupted,
            interrupted=self.interrupted,
            reference=reference,
            expected=expected,
            full=full,
            runner=runner,
        )
