"""One execution of the program under one schedule.

It is a mode of the simulated device: queued work runs only where the schedule says so, or when the
host waits for it. While it runs it notes where running that work *earlier* could have made a
difference (`alternatives.py`).

A *position* is a moment on the host at which device work may run: before a line, or, within a line,
right after a call that reached the device. Reading order: `before_line`, `submitted`, `step`,
`wait`, `polled`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import torch

from pinlab.schedules.alternatives import Alternatives
from pinlab.schedules.current_line import CurrentLine, host_frame
from pinlab.schedules.history import History
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.steps import Step, device_step
from pinlab.schedules.tracer import Scope
from pinlab.sim.accelerator import Accelerator, Target
from pinlab.sim.errors import SimError
from pinlab.sim.modes import Mode
from pinlab.sim.operation import Fill, Operation
from pinlab.sim.place import place_of
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
        line: what of its line ran before, and whether the rest matters.
        history: what was queued and what ran, moment by moment.
        alternatives: what else could have run where, and might matter (if `find`).
        trace: lines, submissions and waits in order; two runs that differ here took other paths.
        left: what is left of the schedule.
        early: run each operation as soon as possible, except number `late[0]` and what follows it,
            which is to wait for position `late[1]`.
        log: the steps made, with places and names, or None: nobody asked for them.
        on_position: called at each position, after the schedule's steps there.
        failure: an error that ends the search, whatever the program makes of it.
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
        self.left = dict(schedule.plan)
        self.pieces = pieces
        self.line = CurrentLine(scope, opcodes)
        self.position: Position = (-1, 0)
        self.history = History()
        frontier = schedule.plan[-1][0] if schedule.plan else (-1, 0)
        self.alternatives = Alternatives(self.history, frontier, find)
        self.trace: list[Any] = []
        self.early = False
        self.late: tuple[int, Position] | None = None
        self.log: list[Step] | None = None
        self.on_position: Callable[[Execution, FrameType | None], None] | None = None
        self.failure: Exception | None = None
        self.deciding = False
        self.polls = 0
        self.moved_at = 0  # the host line of the latest device step
        self.thread = threading.get_ident()
        self.device: Accelerator

    def check_used(self) -> None:
        """Raise `ScheduleError` if the program never came to a position of its schedule."""
        for position in self.left:
            raise ScheduleError(
                f"schedule {self.schedule}: the program never came to {_words(position)}; "
                f"it has {self.position[0]} host steps"
            )

    # -- the host moves ---------------------------------------------------------------------------

    @_ours
    def before_line(self, frame: FrameType) -> None:
        """A new line is about to run."""
        self.trace.append((frame.f_code, frame.f_lasti))
        self._next_line(frame)
        if self.log is not None:
            self.log.append(Step("host", frame.f_code.co_name, self.position, place_of(frame)))

    @_ours
    def returned(self) -> None:
        """The program returned; its caller is about to read the value."""
        self._next_line(None)
        self.line.over = True

    def _next_line(self, frame: FrameType | None) -> None:
        self.alternatives.look()
        line = self.position[0] + 1
        self.position = (line, 0)
        self.line.begins(frame)
        if line > TOO_LONG:
            self.fail(SimError(f"still running after {TOO_LONG:,} host lines: an endless loop?"))
        self._decide(frame, opened=True)
        if line - self.moved_at > SLEEP and self.history.is_busy():
            self._wake()

    @_ours
    def after_return(self, frame: FrameType) -> None:
        """A traced function returned; the rest of its caller's line follows."""
        if self.position[0] >= 0:
            self._moment(frame.f_back, self.line.is_done(frame.f_back))

    def _moment(self, frame: FrameType | None, harmless: bool) -> None:
        """Within a line, after a call that reached the device or a traced function."""
        self.alternatives.look()
        self.position = (self.position[0], self.position[1] + 1)
        if not harmless:
            self.line.goes_on(frame)
        self._decide(frame, opened=not harmless)

    def _decide(self, frame: FrameType | None, opened: bool) -> None:
        """Run what the schedule wants here, then remember how far the device is."""
        self.history.begin(self.position, opened)
        self.deciding = True
        for stream in self.left.pop(self.position, ()):
            self.step(stream)
        if self.early and opened:
            self._run_early()
        self.deciding = False
        self.history.settled()
        if self.on_position is not None:
            self.on_position(self, frame)
        if opened:
            self.alternatives.downloads()

    # -- the host submits, and the device works ---------------------------------------------------

    @_ours
    def submitted(self, device: Accelerator, operation: Operation) -> None:
        if threading.get_ident() != self.thread and not _is_autograd():
            self.fail(SimError("a second thread uses the device; a schedule has only one host"))
        if operation.is_mark:
            self._mark(operation)
            return
        if not self.history.is_busy():
            self.moved_at = self.position[0]
        pieces = min(self.pieces, operation.elements) if operation.pieces is not None else 1
        queued = self.history.add(operation, pieces, self.position)
        self.trace.append(("queued", queued.stream, operation.name, pieces))
        frame = host_frame()
        torn_by_others = pieces > 1 and len(self.history.queues) > 1
        harmless = not torn_by_others if operation.waited else self.line.is_done(frame)
        self._moment(frame, harmless)

    def _mark(self, operation: Operation) -> None:
        if isinstance(operation.guard, HoldMark) and operation.guard.timed:
            operation.guard.released = True  # its time may be up anywhere, so this gate is no gate
            self.device.settle()
        else:
            self.history.mark(operation)

    def step(self, stream: int) -> None:
        """Run one step of a stream: an operation, or one piece of a copy."""
        if self.why_not(stream):
            where = f"nothing of stream {stream} can run at {_words(self.position)}"
            self.fail(ScheduleError(f"schedule {self.schedule}: {where}: {self.why_not(stream)}"))
        queue, queued = self.device.streams[stream], self.history.head(stream)
        if queue.prologue and len(queue.pending) == 1:
            queued.also_fills(queue.prologue)
        self.alternatives.streams(queued)
        self.polls = 0
        self.moved_at = self.position[0]
        self.history.moved(queued)
        if self.log is not None:
            self.log.append(device_step(queued, self.position, forced=not self.deciding))
        with self.device.lock:
            if queued.pieces == 1:
                self.device.run_next(queue)
            elif queued.run_piece():
                self.device.complete(queued.operation)
        if queued.operation.error is not None:
            moments = self.history.moments
            self.alternatives.failure(queued, moments[:-1] if self.deciding else moments)

    def why_not(self, stream: int) -> str:
        """Why a stream cannot make a step now, in words; empty if it can."""
        streams = self.device.streams
        if stream >= len(streams):
            return f"there are {len(streams)} streams so far, counted from 0"
        if not streams[stream].pending:
            return "its queue is empty"
        head = streams[stream].pending[0]
        if isinstance(head.guard, HoldMark):
            return f"it is held at {head.guard.place}"
        if head.is_mark:
            return f"it waits for stream {self.history.needed(streams[stream])}"
        return ""

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
            self.alternatives.surprised = True
            self.step(ready[0])
            self.history.settled()

    # -- the host waits, or looks -----------------------------------------------------------------

    @_ours
    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        """Run what the wait needs, streams in order; nothing else."""
        frame = host_frame()
        if len(self.history.queues) > 1 and self.line.is_begun(frame):
            self._moment(frame, harmless=False)  # other streams may move before it
        self.alternatives.look()
        targets = [(stream, seq) for stream, seq in targets if stream.listed]  # used in this run
        points = [self.history.point(stream.index, seq) for stream, seq in targets]
        self.trace.append(("wait", *((point.stream, point.steps) for point in points)))
        self.history.events.append(("wait", (points, self.position)))
        for stream, seq in targets:
            while stream.completed < seq:
                self._push((stream, seq))
        self._moment(frame, self.line.is_done(frame))

    @_ours
    def polled(self, device: Accelerator, target: Target) -> None:
        """A query is about to answer."""
        self.observed(device)
        self.polls += 1
        if self.polls > PATIENCE and target[0].completed < target[1]:
            self.alternatives.surprised = True
            self._push(target)

    def _push(self, target: Target) -> None:
        """One step on the way to `target`; an error where a hold of the host's own is in the way.

        Raises:
            HeldStreamError: naming the line of the hold.
        """
        index = self.history.needed(target[0])
        if not self.device.streams[index].runnable:
            self.device.check_hold(target)
            self.fail(SimError(f"{target[0]} cannot reach {target[1]}: another thread holds it"))
        self.step(index)

    @_ours
    def observed(self, device: Accelerator) -> None:
        """The host is about to see how far the device is."""
        frame = host_frame()
        if self.line.is_begun(frame):
            self._moment(frame, harmless=False)
        self.alternatives.progress()

    @_ours
    def answered(self, device: Accelerator) -> None:
        """The host has seen it, and goes on with its line."""
        frame = host_frame()
        if not self.line.is_done(frame, is_bool=True):
            self._moment(frame, harmless=False)

    @_ours
    def filling(self, device: Accelerator, stream: StreamQueue, fill: Fill, freed: int) -> None:
        self.alternatives.filling(stream.index, fill, freed)

    @_ours
    def released(self, device: Accelerator) -> None:
        """A hold was opened."""
        self.history.released(self.position)
        if threading.get_ident() == self.thread:
            frame = host_frame()
            self._moment(frame, self.line.is_done(frame))

    def quiesce(self, device: Accelerator) -> None:
        """Nothing runs by itself here."""

    def fail(self, error: Exception) -> None:
        """End the search with an error, even if the program catches it."""
        self.failure = self.failure or error  # the first says why
        raise error


def _is_autograd() -> bool:
    return bool(torch._C._current_graph_task_id() != -1)


def _words(position: Position) -> str:
    line, within = position
    return f"host step {line}" + (f", moment {within} within it" if within else "")
