"""One execution of the program under one schedule.

It is a mode of the simulated device: queued work runs only where the schedule says so, or when the
host waits for it. While it runs it looks at the bytes of all pending work and notes where running
that work *earlier* could have made a difference: the alternatives that `explore` goes on with.

A *position* is a moment on the host at which device work may run: before a line, or, within a line,
right after a submission or a return. Reading order: `point`, `look`, `step`, `wait`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pinlab.schedules.bytecode import rest_is_harmless
from pinlab.schedules.history import Alternative, History, Queued
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.steps import Step, device_step
from pinlab.schedules.tracer import Scope
from pinlab.sim.accelerator import Accelerator, Target
from pinlab.sim.errors import SimError
from pinlab.sim.modes import Mode
from pinlab.sim.operation import Fill, Operation
from pinlab.sim.place import caller_frame, place_of

PATIENCE = 8  # a query may answer "not yet" so many times in a row before the device moves on


class ScheduleError(ValueError):
    """A schedule asks for a device step that cannot be made where it asks for it."""


class Execution(Mode):
    """The mode under which the program runs once.

    Attributes:
        alternatives: what else could have run where, and might matter (if `find`).
        trace: lines, submissions and waits in order; two runs that differ here took other paths.
        history: what was queued and what ran, position by position.
        log: the steps made, with places and names, or None: nobody asked for them.
        on_position: called at each position, after the schedule's steps there.
    """

    name = "explored"
    exclusive = True

    def __init__(
        self, schedule: Schedule, scope: Scope, pieces: int = 1, find: bool = True
    ) -> None:
        self.schedule = schedule
        self.decisions = dict(schedule.plan)
        self.scope = scope
        self.pieces = pieces
        self.find = find
        self.history = History()
        self.alternatives: set[Alternative] = set()
        self.trace: list[Any] = []
        self.line = -1
        self.within = 0
        self.polls = 0
        self.at_submission = False  # run everything at once instead
        self.used: set[Position] = set()
        self.thread = threading.get_ident()
        self.deciding = False
        self.device: Accelerator
        self.log: list[Step] | None = None
        self.on_position: Callable[[Execution, FrameType | None], None] | None = None

    @property
    def position(self) -> Position:
        """Where the host stands."""
        return self.line, self.within

    def full_trace(self) -> list[Any]:
        """The trace, and which positions were real choices."""
        return [*self.trace, *(moment.opened for moment in self.history.positions)]

    def check_used(self) -> None:
        """Raise `ScheduleError` if the program never came to a position of its schedule."""
        for position in self.decisions.keys() - self.used:
            raise ScheduleError(
                f"schedule {self.schedule}: the program never came to host step {position[0]}"
                + (f", moment {position[1]}" if position[1] else "")
            )

    # -- the host moves ---------------------------------------------------------------------------

    def before_line(self, frame: FrameType) -> None:
        """A new line is about to run."""
        self.look()
        self.line += 1
        self.within = 0
        self.trace.append(("line", frame.f_code.co_name, frame.f_lineno))
        self._decide(frame, opened=True)
        if self.log is not None:
            self.log.append(Step("host", frame.f_code.co_name, self.position, place_of(frame)))

    def returned(self) -> None:
        """The program returned; its caller is about to read the value."""
        self.look()
        self.line += 1
        self.within = 0
        self._decide(None, opened=True)

    def after_return(self, frame: FrameType) -> None:
        """A function of the scope returned; the rest of the caller's line follows."""
        caller = frame.f_back
        if self.line >= 0 and caller is not None and self.scope.counts(caller.f_code):
            self._go_within(caller, rest_is_harmless(caller.f_code, caller.f_lasti))

    def _go_within(self, frame: FrameType | None, harmless: bool) -> None:
        self.look()
        self.within += 1
        self._decide(frame, opened=False)
        if not harmless:
            self._downloads_conflict()

    def _decide(self, frame: FrameType | None, opened: bool) -> None:
        """Run what the schedule wants here, then remember how far the device is."""
        history = self.history
        history.begin(self.position, opened)
        self.deciding = True
        for stream in self.decisions.get(self.position, ()):
            self.used.add(self.position)
            self.step(stream)
        self.deciding = False
        history.settled()
        if self.on_position is not None:
            self.on_position(self, frame)
        if opened:
            self._downloads_conflict()

    # -- what could have mattered -----------------------------------------------------------------

    def look(self) -> None:
        """Compare the bytes that pending work will read with the last look."""
        history = self.history
        for queued in history.watching:
            for piece, watched in enumerate(queued.watches, queued.done):
                if sum(watch.changed() for watch in watched):  # not any(): every watch must look
                    history.open_last()
                    self._could_run(queued, piece + 1)

    def observed(self, device: Accelerator) -> None:
        """The host is about to see progress: that conflicts with everything pending."""
        self.look()
        self.history.open_last()
        for queued in self.history.pending():
            for piece in range(queued.done, queued.pieces):
                self._could_run(queued, piece + 1)

    def filling(self, device: Accelerator, fill: Fill) -> None:
        """A recycled block gets new bytes now: that conflicts with late users of the old ones."""
        for queued in self.history.pending():
            if queued.footprint.touches(fill[0]):
                self.history.open_last()
                self._could_run(queued, queued.pieces)

    def _downloads_conflict(self) -> None:
        """Host reads leave no trace, so any host code conflicts with a pending download."""
        for queued in self.history.landing:
            self.history.open_last()
            for piece in range(queued.done, queued.pieces):
                self._could_run(queued, piece + 1)

    def _could_run(self, queued: Queued, pieces: int) -> None:
        if self.find and self.history.positions:
            alternative = self.history.run_before(queued, pieces)
            if alternative is not None:
                self.alternatives.add(alternative)

    # -- the device moves -------------------------------------------------------------------------

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        if threading.get_ident() != self.thread and not _is_autograd():
            raise SimError("a second thread uses the device; a schedule has only one host")
        if operation.is_mark:
            self.history.mark(operation)
            return
        pieces = min(self.pieces, operation.elements) if operation.pieces is not None else 1
        self.history.add(operation, pieces, self.position)
        self.trace.append(("queued", operation.stream.index, operation.name, pieces))
        frame = caller_frame(3)
        direct = frame is not None and self.scope.counts(frame.f_code)
        harmless = direct and rest_is_harmless(frame.f_code, frame.f_lasti)  # type: ignore[union-attr]
        if self.at_submission:
            self._run_all()
        elif self.line >= 0:
            self._go_within(frame, harmless)

    def step(self, stream: int) -> None:
        """Run one step of a stream: an operation, or one piece of a copy."""
        streams = self.device.streams
        if stream >= len(streams) or not streams[stream].runnable:
            raise ScheduleError(
                f"schedule {self.schedule}: nothing of stream {stream} can run at {_say(self)}"
            )
        operation = streams[stream].pending[0]
        queued = self.history.head(stream)
        conflicting = self.history.earlier_conflicts(queued) if self.find else ()
        for alternative in conflicting:
            self.alternatives.add(alternative)
        self.polls = 0
        self.history.moved(queued)
        if self.log is not None:
            part, forced = (queued.done, queued.pieces), not self.deciding
            self.log.append(device_step(operation, self.position, queued.number, *part, forced))
        with self.device.lock:
            if queued.pieces == 1:
                self.device.run_next(streams[stream])
            elif queued.run_piece():
                self.device.complete(operation)

    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        """Run what the wait needs, streams in order; nothing else."""
        self.look()
        reached = [(stream.index, self.history.steps_at(stream, seq)) for stream, seq in targets]
        self.trace.append(("wait", tuple(reached)))
        self.history.events.append(("wait", reached))
        if len(self.history.busy_streams()) > 1:
            self.history.open_last()
        for stream, seq in targets:
            while stream.completed < seq:
                index = self.history.needed(stream)
                if device.streams[index].runnable:
                    self.step(index)
                else:
                    self._open_hold(device, (stream, seq))

    def polled(self, device: Accelerator, target: Target) -> None:
        self.observed(device)
        self.polls += 1
        stream, seq = target
        if self.polls > PATIENCE and stream.completed < seq:
            index = self.history.needed(stream)
            if device.streams[index].runnable:
                self.step(index)

    def _open_hold(self, device: Accelerator, target: Target) -> None:
        hold = device.check_hold(target)
        if hold is None:
            raise SimError(f"{target[0]} cannot reach {target[1]}: nothing can run")
        device.release(hold)  # a timer would open it while the host waits

    def _run_all(self) -> None:
        while ready := [stream.index for stream in self.device.streams if stream.runnable]:
            self.step(ready[0])

    def released(self, device: Accelerator) -> None:
        self.history.released(self.position)
        if self.at_submission:
            self._run_all()

    def quiesce(self, device: Accelerator) -> None:
        """Nothing runs by itself here."""


def _is_autograd() -> bool:
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def _say(execution: Execution) -> str:
    line, within = execution.position
    return f"host step {line}" + (f", moment {within} within it" if within else "")
