"""The accelerator: its streams, what may run next, and how the host waits.

Reading order: `submit` (host to queue), `execute` and `complete` (the device's side), `wait` (host
for device). *When* queued work runs is the mode's decision (`modes.py`), never made here.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from pinlab.sim.errors import ForkedProcessError, HeldStreamError, QueuedOperationError
from pinlab.sim.link import Link
from pinlab.sim.operation import Operation, Work
from pinlab.sim.place import Place, caller_frame
from pinlab.sim.queue import HoldMark, StreamQueue, Ticket
from pinlab.sim.quiet import quiet

if TYPE_CHECKING:
    from pinlab.sim.modes import Mode

Target = tuple[StreamQueue, int]  # "this stream, up to this sequence number"


class Observer(Protocol):
    """Somebody who follows the device: a recorder, a hazard tracker. Called under the lock."""

    def submitted(self, operation: Operation) -> None: ...
    def completed(self, operation: Operation) -> None: ...
    def waited(self, targets: Iterable[Target]) -> None: ...


class Accelerator:
    """One simulated device. There is one a process, made by `pinlab.sim.install`."""

    def __init__(self, mode: Mode) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.mode = mode
        self.link = Link()
        self.streams: list[StreamQueue] = []
        self.holds: list[HoldMark] = []
        self.observers: list[Observer] = []
        self.errors: list[Operation] = []
        self.generation = 0
        self.stopped = False
        self.pid = os.getpid()
        self.default = self.new_stream(0)

    def new_stream(self, priority: int) -> StreamQueue:
        """A further queue; its number is its rank in order of creation."""
        with self.lock:
            stream = StreamQueue(len(self.streams), priority, self.lock)
            self.streams.append(stream)
            return stream

    # -- the host submits ---------------------------------------------------------------------

    def submit(self, operation: Operation) -> Operation:
        """Append to the operation's stream, stamped with the caller's line; return it."""
        if self.pid != os.getpid():
            raise ForkedProcessError(
                "the simulated device cannot be used after fork(); "
                "start worker processes with the 'spawn' method"
            )
        frame = caller_frame(2)
        if frame is not None:
            operation.frame_code, operation.frame_line = frame.f_code, frame.f_lineno
        operation.queued = time.perf_counter()
        stream = operation.stream
        with self.lock:
            stream.submitted += 1
            operation.seq = stream.submitted
            if operation.work is not None and stream.prologue:
                operation.prologue, stream.prologue = stream.prologue, None
            if isinstance(operation.guard, Ticket) and operation.kind == "record":
                operation.guard.seq = operation.seq
            stream.pending.append(operation)
            for observer in self.observers:
                observer.submitted(operation)
            if operation.work is None:
                self.settle()
            self.mode.submitted(self, operation)
        return operation

    def fill_later(self, stream: StreamQueue, fill: Work) -> None:
        """Run `fill` in stream order, together with the next work on `stream`."""
        with self.lock:
            stream.prologue = [*(stream.prologue or ()), fill]

    # -- the device works ---------------------------------------------------------------------

    def execute(self, operation: Operation) -> None:
        """Do the work of one operation; an exception is kept for the next wait."""
        operation.started = time.perf_counter()
        try:
            with quiet():
                for fill in operation.prologue or ():
                    fill()
                operation.work()  # type: ignore[misc]
        except Exception as error:
            operation.error = error
        operation.ended = time.perf_counter()

    def complete(self, operation: Operation) -> None:
        """Take a finished operation off its queue and let what waited for it go on."""
        stream = operation.stream
        stream.pop()
        operation.work = _finished  # drop the closure and its tensors
        if operation.error is not None:
            self.errors.append(operation)
        for observer in self.observers:
            observer.completed(operation)
        self.settle()
        self.changed.notify_all()

    def run_next(self, stream: StreamQueue) -> Operation:
        """Run the head of a runnable stream, here and now."""
        operation = stream.pending[0]
        self.execute(operation)
        self.complete(operation)
        return operation

    def settle(self) -> None:
        """Pass every open mark; a record may open a wait in another stream, so repeat."""
        while sum(stream.pass_marks() for stream in self.streams):
            pass

    def release(self, hold: HoldMark) -> None:
        """Open a hold's gate."""
        with self.lock:
            hold.released = True
            if hold in self.holds:
                self.holds.remove(hold)
            self.settle()
            self.mode.released(self)
            self.changed.notify_all()

    # -- the host waits -----------------------------------------------------------------------

    def wait(self, targets: list[Target]) -> None:
        """Return when every target is reached; raise what went wrong on the device since."""
        if self.pid != os.getpid():
            raise ForkedProcessError("the simulated device cannot be waited for after fork()")
        with self.lock:
            self.mode.wait(self, targets)
            for observer in self.observers:
                observer.waited(targets)
            self.raise_errors()

    def everything(self) -> list[Target]:
        """Targets of a device-wide wait."""
        return [(stream, stream.submitted) for stream in self.streams]

    def raise_errors(self) -> None:
        """Raise the first failure that nobody has heard of yet; later ones stay for later waits."""
        if self.errors:
            failed = self.errors.pop(0)
            message = f"{failed.name} failed on the device; queued at {failed.queued_at}: "
            raise QueuedOperationError(message + str(failed.error)) from failed.error

    def hold_before(self, stream: StreamQueue, seq: int) -> HoldMark | None:
        """The closed hold that `stream` meets before it can reach `seq`, through waits as well."""
        for operation in stream.pending:
            if operation.seq > seq:
                return None
            guard = operation.guard
            if isinstance(guard, HoldMark) and not guard.released:
                return guard
            if operation.kind == "wait" and isinstance(guard, Ticket) and not guard.done:
                behind = self.hold_before(guard.stream, guard.seq)
                if behind is not None:
                    return behind
        return None

    def check_hold(self, target: Target) -> HoldMark | None:
        """The hold that a wait for `target` meets; an error if only this thread could open it."""
        hold = self.hold_before(*target) if self.holds else None
        if hold is None:
            return None
        if hold.owner == threading.get_ident() and not hold.timed:
            raise HeldStreamError(_held(hold, "by this same thread, which now waits for it"))
        if time.monotonic() > hold.deadline:
            raise HeldStreamError(_held(hold, "and its timeout has passed"))
        return hold

    def quiesce(self) -> None:
        """Let everything run that can (work behind a hold stays)."""
        with self.lock:
            self.mode.quiesce(self)

    def pending(self) -> list[Operation]:
        """Queued or running work, in order of submission; marks left out."""
        with self.lock:
            work = [op for s in self.streams for op in s.pending if op.work is not None]
            return sorted(work, key=lambda operation: operation.queued)


def _finished() -> None:
    """What is left of an operation's work once it ran."""


def _held(hold: HoldMark, why: str) -> str:
    place: Place = hold.place
    return (
        f"stream {hold.stream.index} is held at {place} {why}; leave the hold first, "
        f"or pass release_after=…"
    )
