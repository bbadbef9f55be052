"""One queued operation as the explorer sees it: a run of steps of its stream."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.schedules.footprint import Footprint, Watch, watches
from pinlab.schedules.schedule import Position
from pinlab.sim.operation import Fill, Operation, Work
from pinlab.sim.queue import HoldMark


@dataclass(frozen=True)
class Point:
    """A point that a stream can reach: so many steps made, and what marks there wait for.

    `needs` are points of other streams (event waits), `gates` are holds.
    """

    stream: int
    steps: int
    needs: tuple[Point, ...] = ()
    gates: tuple[HoldMark, ...] = ()


class Queued:
    """An operation, queued while the host was at `position`.

    Attributes:
        number: in order of submission over all streams, from 0.
        before: the point of its stream right before it: what must have happened first.
        pieces: its steps: 1, or the parts of a torn copy. done: how many were made.
        watches: for each piece not yet made, the host bytes that it will read.
    """

    def __init__(
        self, operation: Operation, pieces: int, before: Point, position: Position, number: int
    ) -> None:
        self.operation = operation
        self.number = number
        self.stream = before.stream
        self.before = before
        self.position = position
        self.pieces = pieces
        self.done = 0
        self.watches: list[list[Watch]] = [] if operation.waited else watches(operation, pieces)
        self._torn: list[Work] | None = None
        self._footprint: Footprint | None = None

    @property
    def footprint(self) -> Footprint:
        """The bytes it touches."""
        if self._footprint is None:
            self._footprint = Footprint(self.operation)
        return self._footprint

    def also_fills(self, fills: list[Fill]) -> None:
        """Recycled blocks are filled when it ends."""
        self.footprint.writes_also(block for block, _ in fills)

    def after(self, pieces: int) -> Point:
        """The point at which so many of its pieces are done."""
        return Point(self.stream, self.before.steps + pieces)

    def run_piece(self) -> bool:
        """Run the piece just counted as done; whether it was the last."""
        if self._torn is None:
            assert self.operation.pieces is not None
            self._torn = self.operation.pieces(self.pieces)
            for block, byte in self.operation.prologue or ():
                block.fill_(byte)
        try:
            self._torn[self.done - 1]()
        except Exception as error:
            self.operation.error = error
        return self.done == self.pieces

    def __repr__(self) -> str:
        return f"<{self.operation.name} number {self.number}, {self.done} of {self.pieces} done>"
