"""A program in the player's hands: every look is a run of a prefix, there is no live thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pinlab.classroom.game_look import Look, Looker
from pinlab.schedules import Prefix, Report, Schedule, explore

Program = Callable[[], Any]


class Played:
    """One program, its copies in `pieces` parts.

    Args:
        program: as for `explore`. trace: more functions or modules whose lines count.
        pieces: parts of each copy.
    """

    def __init__(self, program: Program, trace: Iterable[Any] = (), pieces: int = 1) -> None:
        self.program = program
        self.trace = tuple(trace)
        self.pieces = pieces
        self.prefix = Prefix(program, pieces=pieces, trace=self.trace)
        self.look = Looker(self.prefix.runner.scope.counts)

    def torn(self, pieces: int) -> Played:
        """The same program with copies in so many parts."""
        return Played(self.program, self.trace, pieces)

    def start(self) -> Look:
        """Before the first line."""
        return self.prefix.after("h", (-1, 0), self.look)

    def host(self, schedule: Schedule, look: Look) -> Look:
        """After the next host step; to the end if nothing is left that could move."""
        following = self.prefix.after(schedule, look.position, self.look)
        if following.returned and not following.waiting:
            return self.prefix.end(schedule, self.look)
        return following

    def over(self, schedule: Schedule, look: Look) -> Look:
        """At the next line of the program's own function, past the calls of this one."""
        lines = self.prefix.end(schedule, lambda stop: list(stop.steps))
        own = self.look.code
        for step in lines:
            name = (step.place.filename, step.place.function)
            mine = own is not None and name == (own.co_filename, own.co_name)
            if step.is_host and mine and step.position > look.position:
                return self.prefix.at(schedule, step.position, self.look)
        last = max((step.position for step in lines if step.is_host), default=look.position)
        return self.host(schedule, look) if last <= look.position else self._end(schedule, last)

    def _end(self, schedule: Schedule, last: tuple[int, int]) -> Look:
        following = self.prefix.at(schedule, (last[0] + 1, 0), self.look)
        if following.returned and not following.waiting:
            return self.prefix.end(schedule, self.look)
        return following

    def device(self, schedule: Schedule, look: Look, stream: int) -> tuple[Schedule, Look]:
        """After one more step of a stream; with the schedule that makes it."""
        here = dict(schedule.plan).get(look.position, ())
        longer = schedule.with_steps(look.position, (*here, stream))
        return longer, self.prefix.at(longer, look.position, self.look)

    def certify(self, expect: Any) -> Report:
        """Every schedule of it."""
        return explore(self.program, expect=expect, pieces=self.pieces, trace=self.trace)
