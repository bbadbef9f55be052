"""What has been queued and what has run, moment by moment, in one execution.

All questions of the form "could this piece have run back there?" are answered here. `chain` is the
key: the shortest run of device steps that leads, from the state at a moment, to a given point of a
stream, through everything that stream order and events put before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pinlab.schedules.queued import Point, Queued
from pinlab.schedules.schedule import Plan, Position
from pinlab.sim.operation import Operation
from pinlab.sim.queue import HoldMark, StreamQueue, Ticket

Alternative = tuple[Position, tuple[int, ...]]  # at this position, step these streams
State = tuple[int, ...]  # steps done per stream


@dataclass
class Moment:
    """A position, whether it is a real choice, and how far each stream had got after it.

    `runs` are the steps made here and, if it is a choice, until the next one, each with the state
    before it.
    """

    position: Position
    opened: bool
    state: State = ()
    runs: list[tuple[Queued, State]] = field(default_factory=list)

    def done(self, stream: int) -> int:
        """Steps that `stream` had made when the host went on."""
        return self.state[stream] if stream < len(self.state) else 0

    def decided(self) -> tuple[int, ...]:
        """The streams that the schedule stepped here; steps that a wait forced come after."""
        total = sum(self.state)
        return tuple(queued.stream for queued, before in self.runs if sum(before) < total)


class History:
    """See the module's text.

    Attributes:
        queues: per stream, its operations. lengths, progress: per stream, steps queued and done.
        moments: where the device could have moved.
        events: in order, ("moment", Moment) and ("wait", (Points, Position)).
        watching: operations with host bytes to watch. landing: pending downloads.
    """

    def __init__(self) -> None:
        self.queues: list[list[Queued]] = []
        self.lengths: list[int] = []
        self.progress: list[int] = []
        self.marks: list[list[tuple[int, Point]]] = []  # per stream: from this number on, this
        self.moments: list[Moment] = []
        self.events: list[tuple[str, Any]] = []
        self.watching: list[Queued] = []
        self.landing: list[Queued] = []
        self.choice: Moment | None = None  # the last moment that is one
        self.count = 0  # operations
        self._tickets: dict[Ticket, Point] = {}
        self._released_at: dict[HoldMark, Position] = {}
        self._grow(0)

    # -- bookkeeping ------------------------------------------------------------------------------

    def _grow(self, stream: int) -> None:
        while len(self.queues) <= stream:
            self.marks.append([(0, Point(len(self.queues), 0))])
            self.queues.append([])
            self.lengths.append(0)
            self.progress.append(0)

    def begin(self, position: Position, opened: bool) -> None:
        """The host reached a position."""
        self.moments.append(Moment(position, opened))
        self.events.append(("moment", self.moments[-1]))
        if opened:
            self.choice = self.moments[-1]

    def open_last(self) -> None:
        """The last position turned out to be a real choice."""
        self.choice = self.moments[-1]
        self.choice.opened = True

    def settled(self) -> None:
        """The schedule's steps at this position are made."""
        self.moments[-1].state = tuple(self.progress)

    def mark(self, operation: Operation) -> None:
        """An event record, an event wait or a hold was queued."""
        stream, guard = operation.stream.index, operation.guard
        self._grow(stream)
        here = self.point(stream, operation.seq)
        if operation.kind == "record" and isinstance(guard, Ticket):
            self._tickets[guard] = here
        elif operation.kind == "wait" and isinstance(guard, Ticket):
            need = self._tickets.get(guard)
            if need is not None:
                here = Point(stream, 0, (*here.needs, need), here.gates)
                self.marks[stream].append((operation.seq, here))
        elif isinstance(guard, HoldMark):
            here = Point(stream, 0, here.needs, (*here.gates, guard))
            self.marks[stream].append((operation.seq, here))

    def add(self, operation: Operation, pieces: int, position: Position) -> Queued:
        """Work was queued."""
        stream = operation.stream.index
        self._grow(stream)
        before = self.point(stream, operation.seq - 1)
        queued = Queued(operation, pieces, before, position, self.count)
        self.count += 1
        self.queues[stream].append(queued)
        self.lengths[stream] += pieces
        if queued.watches:
            self.watching.append(queued)
        if operation.host_writes and not operation.waited:
            self.landing.append(queued)
        return queued

    def released(self, position: Position) -> None:
        """Some hold was opened while the host was at `position`."""
        for marks in self.marks:
            for _, point in marks:
                for gate in point.gates:
                    if gate.released:
                        self._released_at.setdefault(gate, position)

    def moved(self, queued: Queued) -> None:
        """One step is being made."""
        before = tuple(self.progress)
        queued.done += 1
        self.progress[queued.stream] += 1
        if queued.watches:
            queued.watches.pop(0)
        if queued.done == queued.pieces:
            if queued in self.watching:
                self.watching.remove(queued)
            if queued in self.landing:
                self.landing.remove(queued)
        if self.choice is not None:
            self.choice.runs.append((queued, before))

    # -- questions --------------------------------------------------------------------------------

    def at(self, stream: int, step: int) -> Queued:
        """The operation that step number `step` (from 0) of a stream belongs to."""
        for queued in reversed(self.queues[stream]):
            if queued.before.steps <= step:
                return queued
        raise LookupError(f"stream {stream} has no step {step}")

    def head(self, stream: int) -> Queued:
        """The next operation of a stream."""
        return self.at(stream, self.progress[stream])

    def pending(self) -> Iterator[Queued]:
        """Everything that has not run completely."""
        for stream, queue in enumerate(self.queues):
            if self.lengths[stream] > self.progress[stream]:
                yield from (queued for queued in queue if queued.done < queued.pieces)

    def is_busy(self) -> bool:
        """Whether anything is pending."""
        return self.progress != self.lengths

    def point(self, stream: int, seq: int) -> Point:
        """The point that a stream reaches with its entry number `seq`."""
        self._grow(stream)
        steps = self.lengths[stream]
        for queued in reversed(self.queues[stream]):
            if queued.operation.seq <= seq:
                break
            steps = queued.before.steps
        marks = next(point for at, point in reversed(self.marks[stream]) if at <= seq)
        return Point(stream, steps, marks.needs, marks.gates)

    def needed(self, stream: StreamQueue) -> int:
        """The stream that must move so that `stream` can."""
        while stream.pending and stream.pending[0].kind == "wait":
            guard = stream.pending[0].guard
            assert isinstance(guard, Ticket)
            stream = guard.stream
        return stream.index

    def plan(self) -> Plan:
        """The steps that were made without a wait: as a schedule they replay this execution."""
        return tuple((m.position, m.decided()) for m in self.moments if m.decided())

    def run_at(self, moment: Moment, queued: Queued, pieces: int) -> Alternative | None:
        """The way to have `queued` run up to `pieces` at a moment, after what ran there."""
        steps = self.chain(moment.state, queued.after(pieces), moment.position)
        return (moment.position, (*moment.decided(), *steps)) if steps else None

    def choices(self) -> Iterator[Alternative]:
        """Every single step that could have been made at an open position and was not."""
        for moment in self.moments:
            if moment.opened:
                for stream, length in enumerate(self.lengths):
                    one = Point(stream, moment.done(stream) + 1)
                    if one.steps <= length:
                        steps = self.chain(moment.state, one, moment.position)
                        if steps == (stream,):
                            yield moment.position, (*moment.decided(), stream)

    def chain(self, state: State, target: Point, position: Position) -> tuple[int, ...] | None:
        """Streams to step, from `state` at `position`, to reach `target`; None if impossible."""
        progress = [*state, *[0] * (len(self.queues) - len(state))]
        made: list[int] = []
        return tuple(made) if self._reach(progress, made, target, position) else None

    def forced(self, state: State, targets: list[Point], position: Position) -> State:
        """The state after a wait for `targets`: there, or as far as a hold lets it go."""
        progress = list(state)
        made: list[int] = []
        for target in targets:
            if not self._reach(progress, made, target, position):
                break
        return tuple(progress)

    def _reach(
        self, progress: list[int], made: list[int], target: Point, position: Position
    ) -> bool:
        stream = target.stream
        while progress[stream] < target.steps:
            queued = self.at(stream, progress[stream])
            if queued.position >= position:  # its submission opens the position after it
                return False
            if not self._passes(progress, made, queued.before, position):
                return False
            made.append(stream)
            progress[stream] += 1
        return self._passes(progress, made, target, position)

    def _passes(
        self, progress: list[int], made: list[int], point: Point, position: Position
    ) -> bool:
        """Whether the marks at a point let the stream go on."""
        if any(self._released_at.get(gate, position) >= position for gate in point.gates):
            return False
        return all(self._reach(progress, made, need, position) for need in point.needs)

    def earlier_conflicts(self, later: Queued) -> Iterator[Alternative]:
        """`later` is about to run: where could it have run before conflicting work of others?"""
        if len(self.queues) < 2:
            return
        for moment in reversed(self.moments):
            if not moment.opened:
                continue
            if moment.position <= later.position:
                return
            for index, (earlier, before) in enumerate(moment.runs):
                if earlier.stream == later.stream:
                    continue
                if not earlier.footprint.conflicts(later.footprint):
                    continue
                steps = self.chain(before, later.after(later.done + 1), moment.position)
                if steps and earlier.stream not in steps:
                    done = tuple(queued.stream for queued, _ in moment.runs[:index])
                    yield moment.position, (*done, *steps)
