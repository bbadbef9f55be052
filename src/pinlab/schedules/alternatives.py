"""What else could have run where, and might have mattered: the search goes on with these.

Each rule below is one way in which host and device, or two streams, can get in each other's way.
Leaving one out certifies racy programs; `tests/schedules/test_careless.py` does that on purpose.
"""

from __future__ import annotations

from pinlab.schedules.history import Alternative, History, Moment
from pinlab.schedules.queued import Queued
from pinlab.schedules.schedule import Position
from pinlab.sim.operation import Fill


class Alternatives:
    """The alternatives of one execution.

    Attributes:
        found: position and streams to step there, instead of going on with the host.
        surprised: bytes changed where no moment had been expected, so moments vary by schedule.
    """

    def __init__(self, history: History, frontier: Position, find: bool) -> None:
        self.history = history
        self.frontier = frontier  # the last position of the schedule; the parent saw the rest
        self.find = find
        self.found: set[Alternative] = set()
        self.surprised = False

    def look(self) -> None:
        """A pending upload conflicts with host code that changed the bytes it will read.

        Compares them with the last look.
        """
        for queued in self.history.watching:
            for piece, watched in enumerate(queued.watches, queued.done):
                changed = [watch.changed() for watch in watched]  # each must look, so no any() here
                if any(changed):
                    self._could_run(queued, piece + 1)

    def downloads(self) -> None:
        """A pending download conflicts with any host code: a read leaves no trace in the bytes."""
        for queued in self.history.landing:
            self._each_piece(queued)

    def progress(self) -> None:
        """Host code that sees how far the device is conflicts with everything pending."""
        for queued in self.history.pending():
            self._each_piece(queued)

    def streams(self, queued: Queued) -> None:
        """Work that is about to run conflicts with earlier work of other streams on its bytes."""
        if self.find:
            self.found.update(self.history.earlier_conflicts(queued))

    def filling(self, stream: int, fill: Fill, freed: int) -> None:
        """A recycled block gets new bytes, at once if its stream has passed entry `freed`.

        That conflicts with other streams' pending use of the old bytes, and *when* it happens with
        how far its own stream is.
        """
        pending = list(self.history.pending())
        others = [q for q in pending if q.stream != stream and q.footprint.touches(fill[0])]
        own = [q for q in pending if q.stream == stream and q.operation.seq <= freed]
        for queued in [*others, *own] if others else ():
            self._could_run(queued, queued.pieces)

    def failure(self, queued: Queued, moments: list[Moment]) -> None:
        """A failure is heard of at the next wait, whichever: so it conflicts with all moments."""
        for moment in moments:
            if moment.opened and moment.position > queued.position:
                self._note(moment, queued, queued.pieces)

    def _each_piece(self, queued: Queued) -> None:
        for piece in range(queued.done, queued.pieces):
            self._could_run(queued, piece + 1)

    def _could_run(self, queued: Queued, pieces: int) -> None:
        """Running `queued` up to `pieces` at the last moment would have made a difference."""
        if not self.history.moments:
            return
        moment = self.history.moments[-1]
        if not moment.opened:
            self.history.open_last()
            self.surprised = True
        if moment.position >= self.frontier:
            self._note(moment, queued, pieces)

    def _note(self, moment: Moment, queued: Queued, pieces: int) -> None:
        if self.find:
            alternative = self.history.run_at(moment, queued, pieces)
            if alternative is not None:
                self.found.add(alternative)
