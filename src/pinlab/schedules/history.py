"""What has been queued and what has run, position by position, in one execution.

All questions of the form "could this piece have run back there?" are answered here. `chain` is the
key: the shortest run of device steps that leads, from the state at a position, to a given piece,
through everything that stream order and events put before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pinlab.schedules.footprint import Footprint, Watch, watches
from pinlab.schedules.schedule import Position
from pinlab.sim.operation import Operation, Work
from pinlab.sim.queue import HoldMark, StreamQueue, Ticket

Alternative = tuple[Position, tuple[int, ...]]  # at this position, step these streams


class Queued:
    """One queued operation, as a run of steps of its stream."""

    def __init__(
        self, operation: Operation, pieces: int, first: int, position: Position, number: int
    ) -> None:
        self.operation = operation
        self.number = number  # in order of submission, over all streams
        self.stream = operation.stream.index
        self.pieces = pieces
        self.first = first  # steps of the stream before it
        self.position = position  # where it was submitted
        self.done = 0  # pieces that ran
        self.needs: list[tuple[int, int]] = []  # (stream, steps) that events put before it
        self.gates: list[HoldMark] = []
        self.watches: list[list[Watch]] = [] if operation.waited else watches(operation, pieces)
        self._torn: list[Work] | None = None
        self._footprint: Footprint | None = None

    @property
    def footprint(self) -> Footprint:
        if self._footprint is None:
            self._footprint = Footprint(self.operation)
        return self._footprint

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


@dataclass
class Moment:
    """A position, whether it is a real choice, and how far each stream had got after it."""

    position: Position
    opened: bool
    state: tuple[int, ...] = ()
    runs: list[tuple[Queued, tuple[int, ...]]] = field(default_factory=list)  # with state before

    def done(self, stream: int) -> int:
        """Steps that `stream` had made when the host went on."""
        return self.state[stream] if stream < len(self.state) else 0

    def decided(self) -> tuple[int, ...]:
        """The streams that the schedule stepped here; forced steps come after."""
        total = sum(self.state)
        return tuple(queued.stream for queued, before in self.runs if sum(before) < total)


class History:
    """See the module's text. States are tuples: steps done per stream."""

    def __init__(self) -> None:
        self.queues: list[list[Queued]] = [[]]
        self.lengths: list[int] = [0]  # steps queued per stream
        self.progress: list[int] = [0]  # steps done per stream
        self.positions: list[Moment] = []
        self.events: list[Any] = []  # ("position", Moment) | ("queued", Queued) | ("wait", …)
        self.watching: list[Queued] = []
        self.landing: list[Queued] = []  # pending downloads
        self._needs: dict[int, list[tuple[int, int]]] = {}
        self._gates: dict[int, list[HoldMark]] = {}
        self._tickets: dict[Ticket, int] = {}
        self._released_at: dict[HoldMark, Position] = {}

    # -- bookkeeping ------------------------------------------------------------------------------

    def _grow(self, stream: int) -> None:
        while len(self.queues) <= stream:
            self.queues.append([])
            self.lengths.append(0)
            self.progress.append(0)

    def begin(self, position: Position, opened: bool) -> None:
        """The host reached a position."""
        self.positions.append(Moment(position, opened))
        self.events.append(("position", self.positions[-1]))

    def settled(self) -> None:
        """The schedule's steps at this position are made."""
        self.positions[-1].state = tuple(self.progress)

    def open_last(self) -> None:
        """What happened since the last position makes it a real choice."""
        if self.positions:
            self.positions[-1].opened = True

    def mark(self, operation: Operation) -> None:
        """An event record, an event wait or a hold was queued."""
        stream, guard = operation.stream.index, operation.guard
        self._grow(stream)
        if operation.kind == "record" and isinstance(guard, Ticket):
            self._tickets[guard] = self.lengths[stream]
        elif operation.kind == "wait" and isinstance(guard, Ticket):
            need = (guard.stream.index, self._tickets.get(guard, 0))
            self._needs.setdefault(stream, []).append(need)
        elif isinstance(guard, HoldMark):
            self._gates.setdefault(stream, []).append(guard)

    def add(self, operation: Operation, pieces: int, position: Position) -> None:
        """Work was queued."""
        stream = operation.stream.index
        self._grow(stream)
        number = sum(len(queue) for queue in self.queues)
        queued = Queued(operation, pieces, self.lengths[stream], position, number)
        queued.needs = list(self._needs.get(stream, ()))
        queued.gates = list(self._gates.get(stream, ()))
        self.queues[stream].append(queued)
        self.lengths[stream] += pieces
        self.events.append(("queued", queued))
        if queued.watches:
            self.watching.append(queued)
        if operation.host_writes and not operation.waited:
            self.landing.append(queued)

    def released(self, position: Position) -> None:
        """Some hold was opened while the host was at `position`."""
        for gates in self._gates.values():
            for gate in gates:
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
            self.watching = [q for q in self.watching if q is not queued]
            self.landing = [q for q in self.landing if q is not queued]
        if self.positions:
            self.positions[-1].runs.append((queued, before))

    # -- questions --------------------------------------------------------------------------------

    def head(self, stream: int) -> Queued:
        """The next operation of a stream."""
        return self.at(stream, self.progress[stream])

    def at(self, stream: int, step: int) -> Queued:
        """The operation that step number `step` (from 0) belongs to."""
        for queued in reversed(self.queues[stream]):
            if queued.first <= step:
                return queued
        raise LookupError(f"stream {stream} has no step {step}")

    def pending(self) -> Iterator[Queued]:
        """Everything that has not run completely."""
        for stream, queue in enumerate(self.queues):
            for queued in queue:
                if queued.first + queued.pieces > self.progress[stream]:
                    yield queued

    def busy_streams(self) -> set[int]:
        """Streams with pending work."""
        return {s for s, n in enumerate(self.lengths) if n > self.progress[s]}

    def steps_at(self, stream: StreamQueue, seq: int) -> int:
        """How many steps of `stream` lie at or before sequence number `seq`."""
        self._grow(stream.index)
        queue = self.queues[stream.index]
        return sum(queued.pieces for queued in queue if queued.operation.seq <= seq)

    def needed(self, stream: StreamQueue) -> int:
        """The stream that must move so that `stream` can."""
        while stream.pending and stream.pending[0].kind == "wait":
            guard = stream.pending[0].guard
            assert isinstance(guard, Ticket)
            stream = guard.stream
        return stream.index

    def run_before(self, queued: Queued, pieces: int) -> Alternative | None:
        """The way to have `queued` run up to `pieces` at the last position."""
        moment = self.positions[-1]
        steps = self.chain(moment.state, queued.stream, queued.first + pieces, moment.position)
        if not steps:
            return None
        return moment.position, (*moment.decided(), *steps)

    def choices(self) -> Iterator[Alternative]:
        """Every single step that could have been made at an open position and was not."""
        for moment in self.positions:
            if moment.opened:
                for stream, length in enumerate(self.lengths):
                    if moment.done(stream) < length:
                        one = moment.done(stream) + 1
                        if self.chain(moment.state, stream, one, moment.position) == (stream,):
                            yield moment.position, (*moment.decided(), stream)

    def chain(
        self, state: tuple[int, ...], stream: int, steps: int, position: Position
    ) -> tuple[int, ...] | None:
        """Streams to step, from `state`, until `stream` made `steps` steps; None if impossible."""
        progress = [*state, *[0] * (len(self.queues) - len(state))]
        made: list[int] = []
        if not self._reach(progress, made, stream, steps, position):
            return None
        return tuple(made)

    def _reach(
        self, progress: list[int], made: list[int], stream: int, steps: int, position: Position
    ) -> bool:
        while progress[stream] < steps:
            queued = self.at(stream, progress[stream])
            if queued.position >= position:  # its submission opens the position after it
                return False
            if any(self._released_at.get(gate, position) >= position for gate in queued.gates):
                return False
            for other, count in queued.needs:
                if not self._reach(progress, made, other, count, position):
                    return False
            made.append(stream)
            progress[stream] += 1
        return True

    def earlier_conflicts(self, later: Queued) -> Iterator[Alternative]:
        """`later` is about to run: where could it have run before conflicting work of others?"""
        if len(self.queues) < 2:
            return
        for moment in reversed(self.positions):
            if moment.position <= later.position:
                return
            for index, (earlier, before) in enumerate(moment.runs):
                if earlier.stream == later.stream:
                    continue
                if not earlier.footprint.conflicts(later.footprint):
                    continue
                target = later.first + later.done + 1
                steps = self.chain(before, later.stream, target, moment.position)
                if steps and earlier.stream not in steps:
                    done = tuple(q.stream for q, _ in moment.runs[:index])
                    yield moment.position, (*done, *steps)
