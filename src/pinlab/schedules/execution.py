"""One execution of the program under one schedule.

It is a mode of the simulated device: queued work runs only where the schedule says so, or when the
host waits for it. While it runs it looks at the bytes of all pending work and notes where running
that work *earlier* could have made a difference: the alternatives that `explore` goes on with.

A *position* is a moment on the host at which device work may run: before a line, or, within a line,
right after a call that reached the device. Reading order: `before_line`, `look`, `step`, `wait`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from pinlab.schedules.bytecode import rest_is_harmless, start_is_harmless
from pinlab.schedules.history import Alternative, History, Moment
from pinlab.schedules.queued import Queued
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.steps import Step, device_step
from pinlab.schedules.tracer import Scope
from pinlab.sim.accelerator import Accelerator, Target
from pinlab.sim.errors import SimError
from pinlab.sim.modes import Mode
from pinlab.sim.operation import Fill, Operation
from pinlab.sim.place import caller_frame, place_of
from pinlab.sim.queue import HoldMark, StreamQueue

PATIENCE = 8  # a query may answer "not yet" so many times in a row before the device moves on
SLEEP = 1_000  # so many host lines in a row the device may sleep although there is work
TOO_LONG = 1_000_000  # host lines; a program that runs more of them is taken for an endless loop


Hook = TypeVar("Hook", bound=Callable[..., None])


class ScheduleError(ValueError):
    """A schedule asks for a device step that cannot be made where it asks for it."""


def _ours(hook: Hook) -> Hook:
    """A mistake of ours inside the program must not pass for an exception of the program's."""

    @functools.wraps(hook)
    def guarded(self: Execution, *args: Any) -> None:
        try:
            hook(self, *args)
        except SimError:
            raise
        except Exception as error:
            self.failure = self.failure or error
            raise

    return guarded  # type: ignore[return-value]


class Execution(Mode):
    """The mode under which the program runs once.

    Attributes:
        position: where the host stands: (lines passed, moments within the line).
        history: what was queued and what ran, moment by moment.
        alternatives: what else could have run where, and might matter (if `find`).
        trace: lines, submissions and waits in order; two runs that differ here took other paths.
        surprised: bytes changed where no moment had been expected, so moments vary by schedule.
        early: run each operation as soon as possible, except number `late[0]` and what follows it,
            which is to wait for position `late[1]`.
        log: the steps made, with places and names, or None: nobody asked for them.
        on_position: called at each position, after the schedule's steps there.
    """

    name = "explored"
    exclusive = True

    def __init__(
        self,
        schedule: Schedule,
        scope: Scope,
        pieces: int = 1,
        opcodes: bool = False,
        find: bool = True,
    ) -> None:
        self.schedule = schedule
        self.decisions = dict(schedule.plan)
        self.frontier = schedule.plan[-1][0] if schedule.plan else (-1, 0)
        self.scope = scope
        self.pieces = pieces
        self.opcodes = opcodes
        self.find = find
        self.position: Position = (-1, 0)
        self.history = History()
        self.alternatives: set[Alternative] = set()
        self.trace: list[Any] = []
        self.surprised = False
        self.early = False
        self.late: tuple[int, Position] | None = None
        self.log: list[Step] | None = None
        self.on_position: Callable[[Execution, FrameType | None], None] | None = None
        self.failure: Exception | None = None  # the program must not swallow it
        self.deciding = False
        self.polls = 0
        self.moved_at = 0  # the host line of the latest device step
        self.thread = threading.get_ident()
        self.device: Accelerator

    def check_used(self) -> None:
        """Raise `ScheduleError` if the program never came to a position of its schedule."""
        for position in self.decisions:
            raise ScheduleError(
                f"schedule {self.schedule}: the program never came to {_words(position)}"
            )

    # -- the host moves ---------------------------------------------------------------------------

    @_ours
    def before_line(self, frame: FrameType) -> None:
        """A new line is about to run."""
        code = frame.f_code
        self.trace.append((code, frame.f_lasti if self.opcodes else frame.f_lineno))
        self._next_line(frame)
        if self.log is not None:
            self.log.append(Step("host", code.co_name, self.position, place_of(frame)))

    @_ours
    def returned(self) -> None:
        """The program returned; its caller is about to read the value."""
        self._next_line(None)

    def _next_line(self, frame: FrameType | None) -> None:
        self.look()
        line = self.position[0] + 1
        self.position = (line, 0)
        if line > TOO_LONG:
            self._fail(SimError(f"still running after {TOO_LONG:,} host lines: an endless loop?"))
        self._decide(frame, opened=True)
        if line - self.moved_at > SLEEP and self.history.is_busy():
            self._wake()

    @_ours
    def after_return(self, frame: FrameType) -> None:
        """A traced function returned; the rest of its caller's line follows."""
        if self.position[0] >= 0:
            self._moment(frame.f_back, self._is_done(frame.f_back))

    def _moment(self, frame: FrameType | None, harmless: bool) -> None:
        """Within a line, after a call that reached the device or a traced function."""
        self.look()
        self.position = (self.position[0], self.position[1] + 1)
        self._decide(frame, opened=not harmless)

    def _is_done(self, frame: FrameType | None, is_bool: bool = False) -> bool:
        """Whether the rest of the line cannot touch a buffer."""
        if frame is None:
            return True  # autograd's own thread; the host waits inside `backward`
        if not self.scope.counts(frame.f_code):
            return False
        return self.opcodes or rest_is_harmless(frame.f_code, frame.f_lasti, is_bool)

    def _is_begin(self, frame: FrameType | None) -> bool:
        """Whether nothing on the line so far can have touched a buffer."""
        if frame is None or not self.scope.counts(frame.f_code):
            return False
        return self.opcodes or start_is_harmless(frame.f_code, frame.f_lasti)

    def _decide(self, frame: FrameType | None, opened: bool) -> None:
        """Run what the schedule wants here, then remember how far the device is."""
        self.history.begin(self.position, opened)
        self.deciding = True
        for stream in self.decisions.pop(self.position, ()):
            self.step(stream)
        if self.early and opened:
            self._run_early()
        self.deciding = False
        self.history.settled()
        if self.on_position is not None:
            self.on_position(self, frame)
        if opened:
            self._downloads_conflict()

    # -- what could have mattered -----------------------------------------------------------------

    def look(self) -> None:
        """Compare the bytes that pending work will read with the last look."""
        for queued in self.history.watching:
            for piece, watched in enumerate(queued.watches, queued.done):
                if sum(watch.changed() for watch in watched):  # not any(): every watch must look
                    self._could_run(queued, piece + 1)

    def _downloads_conflict(self) -> None:
        """Host reads leave no trace, so any host code conflicts with a pending download."""
        for queued in self.history.landing:
            self._could_run_each_piece(queued)

    @_ours
    def observed(self, device: Accelerator) -> None:
        """The host is about to see progress: that conflicts with everything pending."""
        if not self.history.is_busy():
            return
        frame = caller_frame(3)
        if not self._is_begin(frame):
            self._moment(frame, harmless=False)
        self.look()
        for queued in self.history.pending():
            self._could_run_each_piece(queued)

    @_ours
    def answered(self, device: Accelerator) -> None:
        """The host has seen progress, and goes on with its line."""
        if self.history.is_busy():
            frame = caller_frame(3)
            if not self._is_done(frame, is_bool=True):
                self._moment(frame, harmless=False)

    @_ours
    def filling(self, device: Accelerator, stream: StreamQueue, fill: Fill, freed: int) -> None:
        """A recycled block of `stream` gets new bytes, now or once its entry `freed` is done.

        That conflicts with other streams' pending use of the old bytes, and *when* it happens with
        how far `stream` is.
        """
        touching = [
            queued
            for queued in self.history.pending()
            if queued.stream != stream.index and queued.footprint.touches(fill[0])
        ]
        for queued in touching:
            self._could_run(queued, queued.pieces)
        for queued in self.history.pending() if touching else ():
            if queued.stream == stream.index and queued.operation.seq <= freed:
                self._could_run(queued, queued.pieces)

    def _could_run_each_piece(self, queued: Queued) -> None:
        for piece in range(queued.done, queued.pieces):
            self._could_run(queued, piece + 1)

    def _could_run(self, queued: Queued, pieces: int) -> None:
        """Running `queued` up to `pieces` at the last moment would have made a difference."""
        if not self.history.moments:
            return
        moment = self.history.moments[-1]
        if not moment.opened:
            moment.opened = self.surprised = True
        if moment.position >= self.frontier:  # before it, the parent has noted it
            self._note(moment, queued, pieces)

    def _note(self, moment: Moment, queued: Queued, pieces: int) -> None:
        if self.find:
            alternative = self.history.run_at(moment, queued, pieces)
            if alternative is not None:
                self.alternatives.add(alternative)

    def _failed(self, queued: Queued) -> None:
        """A failure is heard of at the next wait, whichever: so each earlier moment matters."""
        for moment in self.history.moments[: -1 if self.deciding else None]:
            if moment.opened and moment.position > queued.position:
                self._note(moment, queued, queued.pieces)

    # -- the device moves -------------------------------------------------------------------------

    @_ours
    def submitted(self, device: Accelerator, operation: Operation) -> None:
        if threading.get_ident() != self.thread and not _is_autograd():
            self._fail(SimError("a second thread uses the device; a schedule has only one host"))
        if operation.is_mark:
            self._mark(device, operation)
            return
        if not self.history.is_busy():
            self.moved_at = self.position[0]
        pieces = min(self.pieces, operation.elements) if operation.pieces is not None else 1
        queued = self.history.add(operation, pieces, self.position)
        self.trace.append(("queued", queued.stream, operation.name, pieces))
        frame = caller_frame(3)
        self._moment(frame, operation.waited or self._is_done(frame))

    def _mark(self, device: Accelerator, operation: Operation) -> None:
        if isinstance(operation.guard, HoldMark) and operation.guard.timed:
            operation.guard.released = True  # its time may be up anywhere, so this gate is no gate
            device.settle()
        else:
            self.history.mark(operation)

    def step(self, stream: int) -> None:
        """Run one step of a stream: an operation, or one piece of a copy."""
        streams, history = self.device.streams, self.history
        if stream >= len(streams) or not streams[stream].runnable:
            self._fail(
                ScheduleError(
                    f"schedule {self.schedule}: nothing of stream {stream} can run at "
                    f"{_words(self.position)}"
                )
            )
        queue = streams[stream]
        queued = history.head(stream)
        if queue.prologue and len(queue.pending) == 1:
            queued.also_fills(queue.prologue)
        if self.find:
            self.alternatives.update(history.earlier_conflicts(queued))
        self.polls = 0
        self.moved_at = self.position[0]
        history.moved(queued)
        if self.log is not None:
            self.log.append(device_step(queued, self.position, forced=not self.deciding))
        with self.device.lock:
            if queued.pieces == 1:
                self.device.run_next(queue)
            elif queued.run_piece():
                self.device.complete(queued.operation)
        if queued.operation.error is not None:
            self._failed(queued)

    @_ours
    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        """Run what the wait needs, streams in order; nothing else."""
        self.look()
        points = [self.history.point(stream.index, seq) for stream, seq in targets]
        self.trace.append(("wait", *((point.stream, point.steps) for point in points)))
        self.history.events.append(("wait", (points, self.position)))
        for stream, seq in targets:
            while stream.completed < seq:
                index = self.history.needed(stream)
                if device.streams[index].runnable:
                    self.step(index)
                else:
                    self._meet_hold(device, (stream, seq))
        if self.history.is_busy():
            frame = caller_frame(3)
            self._moment(frame, self._is_done(frame))

    @_ours
    def polled(self, device: Accelerator, target: Target) -> None:
        self.observed(device)
        self.polls += 1
        stream, seq = target
        if self.polls > PATIENCE and stream.completed < seq:
            index = self.history.needed(stream)
            if device.streams[index].runnable:
                self.step(index)
            else:
                self._meet_hold(device, target)

    def _meet_hold(self, device: Accelerator, target: Target) -> None:
        """The host waits for a held stream: an error if it holds the stream itself."""
        if device.check_hold(target) is None:
            self._fail(SimError(f"{target[0]} cannot reach {target[1]}: nothing can run"))
        self._fail(SimError("another thread holds the stream; a schedule has only one host"))

    def _run_early(self) -> None:
        while ready := [s.index for s in self.device.streams if s.runnable and self._may_run(s)]:
            self.step(ready[0])

    def _may_run(self, stream: StreamQueue) -> bool:
        if self.late is None or self.position >= self.late[1]:
            return True
        return self.history.head(stream.index).number != self.late[0]

    def _wake(self) -> None:
        """The device does not sleep for ever: one step."""
        ready = [stream.index for stream in self.device.streams if stream.runnable]
        if ready:
            self.surprised = True
            self.step(ready[0])
            self.history.settled()

    @_ours
    def released(self, device: Accelerator) -> None:
        self.history.released(self.position)
        if threading.get_ident() == self.thread and self.history.is_busy():
            frame = caller_frame(3)
            self._moment(frame, self._is_done(frame))

    def quiesce(self, device: Accelerator) -> None:
        """Nothing runs by itself here."""

    def _fail(self, error: Exception) -> None:
        self.failure = error
        raise error


def _is_autograd() -> bool:
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def _words(position: Position) -> str:
    line, within = position
    return f"host step {line}" + (f", moment {within} within it" if within else "")
