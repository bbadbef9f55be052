"""What happened in one execution, step by step: host lines and device work in one list."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.schedules.queued import Queued
from pinlab.schedules.schedule import Position
from pinlab.sim.place import Place


@dataclass(frozen=True)
class Step:
    """One step of the host, or of one stream of the device.

    Attributes:
        lane: ``"host"``, or ``"stream 0"``, ``"stream 1"``, …
        name: for the host the function it is in; for the device the operation's name.
        position: where the host stood: before its line `position[0]`, at moment `position[1]`.
        place: the host line, or the line that queued the operation (`place.source` is its text).
        kind: ``"line"``, or ``"kernel"``, ``"upload"``, ``"download"``.
        stream: the device stream's number; None for the host.
        piece, pieces: which part of a torn copy, counted from 1, and of how many.
        forced: the device made this step because the host waited for it, not by the schedule.
        number: which operation, counted over all streams in order of submission from 0.
    """

    lane: str
    name: str
    position: Position
    place: Place
    kind: str = "line"
    stream: int | None = None
    piece: int = 1
    pieces: int = 1
    forced: bool = False
    number: int | None = None

    @property
    def is_host(self) -> bool:
        """Whether the host made it."""
        return self.stream is None

    def __str__(self) -> str:
        if self.is_host:
            return f"host      {self.place}  {self.place.source}"
        part = f" {self.piece}/{self.pieces}" if self.pieces > 1 else ""
        why = ", the host waits" if self.forced else ""
        return f"{self.lane}  {self.name}{part} (queued at {self.place}{why})"


def device_step(queued: Queued, position: Position, forced: bool) -> Step:
    """The step that runs a queued operation, or the piece of it counted as done just now."""
    operation = queued.operation
    return Step(
        f"stream {queued.stream}",
        operation.name,
        position,
        operation.queued_at,
        operation.kind,
        queued.stream,
        queued.done,
        queued.pieces,
        forced,
        queued.number,
    )
