"""One look at a stopped program: where it stands, what is queued, what lies in memory.

Plain data: two looks at the same prefix are equal, and no look keeps a frame or a tensor alive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType, FrameType

from pinlab.classroom.game_memory import Buffer, Names, buffers, short_name
from pinlab.classroom.game_source import Listing, listing
from pinlab.schedules import Outcome, Step, Stop
from pinlab.schedules.prefix import Waiting
from pinlab.schedules.schedule import Position
from pinlab.schedules.tracer import Tracer
from pinlab.sim import Operation, Place


@dataclass(frozen=True)
class Entry:
    """One entry of a stream's queue.

    Attributes:
        number: which operation, in order of submission over all streams.
        label: what it does, e.g. ``"upload row → lens"``.
        queued_by: the line that queued it, in words.
        done, pieces: parts of it that ran, of how many.
        blocked: why it cannot run now, "" for the next operation of its stream.
    """

    number: int
    label: str
    queued_by: str
    done: int
    pieces: int
    blocked: str

    def __str__(self) -> str:
        part = f", part {self.done + 1} of {self.pieces}" if self.pieces > 1 else ""
        return f"{self.label}{part}, queued by {self.queued_by}"


@dataclass(frozen=True)
class Look:
    """What there is to see at a position.

    Attributes:
        position: host lines passed, moments within the line.
        listings: the program's function, and the one that the host stands in if that is another.
        depth: how many of the traced functions are on.
        queues: for each stream, what has not run to its end, in order.
        memory: a row for each name.
        steps: host and device steps so far.
        outcome: the program's value if it is over.
    """

    position: Position
    listings: tuple[Listing, ...]
    depth: int
    queues: tuple[tuple[Entry, ...], ...]
    memory: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    outcome: Outcome | None

    @property
    def over(self) -> bool:
        """Whether the program has ended."""
        return self.outcome is not None

    @property
    def returned(self) -> bool:
        """Whether its last line has run, so that only its value is left to be read."""
        return not self.over and self.listings[0].next is None

    @property
    def in_call(self) -> bool:
        """Whether the host stands in a function that the program called."""
        return len(self.listings) > 1

    @property
    def waiting(self) -> int:
        """How many operations have not run to their end."""
        return sum(map(len, self.queues))

    def since(self, before: Look) -> Look:
        """The same look, with the values marked that differ from an earlier one."""
        rows = {row.name: row for row in before.memory}
        return replace(self, memory=tuple(row.since(rows.get(row.name)) for row in self.memory))


class Looker:
    """Takes looks at one program.

    Attributes:
        code: of the program's own function, known from the first look on.
    """

    def __init__(self, counts: Callable[[FrameType], bool]) -> None:
        self.counts = counts
        self.code: CodeType | None = None

    def __call__(self, stop: Stop) -> Look:
        """The look at a stop of the program."""
        frames = self._stack(stop.frame)
        if self.code is None and frames:
            self.code = frames[0].f_code
        names = Names(frames)
        return Look(
            stop.position,
            self._listings(frames, stop.position[1] > 0),
            len(frames),
            self._queues(stop, names),
            buffers(names, stop),
            tuple(stop.steps),
            stop.outcome,
        )

    def _stack(self, frame: FrameType | None) -> list[FrameType]:
        """The traced functions that are on, the program's own first."""
        frames: list[FrameType] = []
        while frame is not None and frame.f_code is not Tracer.run.__code__:
            if self.counts(frame):
                frames.append(frame)
            frame = frame.f_back
        return frames[::-1]

    def _listings(self, frames: list[FrameType], within: bool) -> tuple[Listing, ...]:
        if not frames:
            return (listing(self.code),) if self.code else ()
        outer = listing(frames[0].f_code, frames[0], within and len(frames) == 1)
        inner = [listing(frame.f_code, frame, within) for frame in frames[1:][-1:]]
        return (outer, *inner)

    def _queues(self, stop: Stop, names: Names) -> tuple[tuple[Entry, ...], ...]:
        streams = len(stop.execution.device.streams)
        queues: list[list[Entry]] = [[] for _ in range(streams)]
        for one in stop.waiting:
            queues[one.stream].append(self._entry(one, names))
        return tuple(map(tuple, queues))

    def _entry(self, one: Waiting, names: Names) -> Entry:
        operation = one.operation
        return Entry(
            one.number,
            _label(operation, names),
            self.line(operation.queued_at),
            one.done,
            one.pieces,
            one.blocked or "",
        )

    def line(self, place: Place) -> str:
        """A line in words: by its number in the program's listing, else by file."""
        code = self.code
        if code and (place.filename, place.function) == (code.co_filename, code.co_name):
            return f"line {place.lineno - code.co_firstlineno + 1}"
        return str(place)


def _label(operation: Operation, names: Names) -> str:
    source = names.of((*operation.host_reads, *operation.device_reads))
    target = names.of((*operation.host_writes, *operation.device_writes))
    if operation.kind == "upload" and not operation.host_reads:
        source = "staged bytes"
    ends = f"{source} → {target}" if source and target else source or (target and f"→ {target}")
    return f"{short_name(operation.name)} {ends}".strip()
