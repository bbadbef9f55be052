"""The accelerator: its streams, what may run next, and how the host waits.

Reading order: `submit` (host to queue), `execute` and `complete` (the device's side), `wait` (host
for device). *When* queued work runs is the mode's decision (`modes.py`), never made here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from pinlab.sim.capture import Capture, capture_of
from pinlab.sim.errors import ForkedProcessError, QueuedOperationError, SimError, text_of
from pinlab.sim.link import Link
from pinlab.sim.obstacle import check_hold, hold_before
from pinlab.sim.operation import Fill, Operation
from pinlab.sim.place import caller_frame
from pinlab.sim.queue import HoldMark, StreamQueue, do_fills, used_by_others
from pinlab.sim.quiet import quiet

if TYPE_CHECKING:
    from pinlab.sim.modes import Mode

Target = tuple[StreamQueue, int]  # "this stream, up to this sequence number"

# Entries of one stream's queue; a longer one makes the host wait, as a full queue on CUDA does.
MAX_QUEUED = 1024


class Observer(Protocol):
    """Somebody who follows the device: a recorder, a hazard tracker. Called under the lock."""

    def submitted(self, operation: Operation) -> None: ...
    def completed(self, operation: Operation) -> None: ...
    def waited(self, targets: Iterable[Target]) -> None: ...


class CaptureObserver(Protocol):
    """Somebody who follows what is captured."""

    def captured(self, operation: Operation) -> None: ...
    def capture_ended(self, operations: list[Operation]) -> None: ...


class Accelerator:
    """One simulated device. There is one a process, made by `pinlab.sim.install`."""

    def __init__(self, mode: Mode) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.mode = mode
        self.link = Link()
        self.streams: list[StreamQueue] = []
        self.holds: list[HoldMark] = []
        self.observers: list[Observer] = []  # iterated as a copy: a thread may add one
        self.errors: list[Operation] = []
        self.wait_began = float("nan")  # for observers: of the wait they hear of; nan for a query
        self.waiting: set[threading.Thread] = set()  # host threads in a wait
        self.resets = 0  # how often queued work was forgotten
        self.stopping = threading.Event()  # the interpreter goes down
        self.forked = False  # this is a child process; the device is the parent's
        self.captures: list[Capture] = []  # going on
        self.capture_observers: list[CaptureObserver] = []
        self.mapped: Callable[[Operation], None] | None = None  # set once host memory is mapped
        self.default = self.new_stream(0)

    def new_stream(self, priority: int) -> StreamQueue:
        """A further queue; its number is its rank in order of creation."""
        self.check_process()
        with self.lock:
            stream = StreamQueue(len(self.streams), priority, self.lock)
            self.streams.append(stream)
            return stream

    def check_process(self) -> None:
        """Refuse to work in a forked child: threads and queues did not come along."""
        if self.forked:
            raise ForkedProcessError(
                "the simulated device cannot be used after fork(), as CUDA cannot; "
                "start worker processes with the 'spawn' method"
            )

    # -- the host submits ---------------------------------------------------------------------

    def submit(self, operation: Operation, inside: int = 0) -> Operation:
        """Append to the operation's stream, stamped with the user's line; return it.

        Args:
            inside: how many functions of the device, at the least, lie between the user and here.
        """
        if self.forked:
            self.check_process()
        frame = caller_frame(2 + inside)
        if frame is not None:
            operation.frame_code, operation.frame_at = frame.f_code, frame.f_lasti
        stream = operation.stream
        if self.mapped is not None:
            self.mapped(operation)
        if self.captures and (capture := capture_of(operation)) is not None:
            return self._record(operation, capture)
        with self.lock:
            if not stream.listed:  # made before a reset
                self._list_again(stream)
            while len(stream.pending) >= MAX_QUEUED and self.mode.free_running:
                self.wait_a_moment((stream, stream.pending[0].seq))
            operation.queued = time.perf_counter()
            operation.seq = seq = stream.submitted + 1
            if stream.prologue:
                operation.prologue, stream.prologue = stream.prologue, None
            if operation.work is None and operation.kind == "record":
                operation.guard.seq = seq  # type: ignore[attr-defined]
            stream.pending.append(operation)
            stream.submitted = seq
            if self.observers:
                for observer in tuple(self.observers):
                    observer.submitted(operation)
            if operation.work is None:
                self.settle()
            self.mode.submitted(self, operation)
        return operation

    def _record(self, operation: Operation, capture: Capture) -> Operation:
        """The stream is being captured: write the operation down, run nothing."""
        with self.lock:
            capture.record(operation)
            for observer in () if operation.is_mark else tuple(self.capture_observers):
                observer.captured(operation)
        return operation

    def _list_again(self, stream: StreamQueue) -> None:
        stream.index = len(self.streams)
        stream.listed = True
        self.streams.append(stream)

    def fill(self, stream: StreamQueue, fill: Fill, freed: int) -> None:
        """Fill a recycled block of `stream`, once it is past number `freed`, its last use.

        That is now, or together with the next entry of the stream. Not later: another stream may
        write the block as soon as it is ordered after this one. While another stream has still to
        use what stood there, the old bytes stay, as on a real device: the fill is no work of the
        program's, and must not do damage that the program does not do.
        """
        with self.lock:
            self.mode.filling(self, stream, fill, freed)
            if used_by_others(stream, fill[0], self.streams):
                return
            if stream.completed >= freed or not stream.pending:
                do_fills([fill])
            else:
                stream.prologue = [*(stream.prologue or ()), fill]

    # -- the device works ---------------------------------------------------------------------

    def execute(self, operation: Operation) -> None:
        """Do the work of one operation; an exception is kept for the next wait."""
        operation.started = time.perf_counter()
        try:
            with quiet():
                for block, byte in operation.prologue or ():
                    block.fill_(byte)
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
        for observer in tuple(self.observers):
            observer.completed(operation)
        self.settle()
        self.changed.notify_all()

    def run_next(self, stream: StreamQueue) -> Operation:
        """Run the head of a runnable stream, here and now."""
        operation = stream.start()
        try:
            self.execute(operation)
        except BaseException as interrupt:
            operation.error = interrupt  # Ctrl-C: it may have run in part, so it failed
            raise
        finally:
            self.complete(operation)
        return operation

    def settle(self) -> None:
        """Pass every open mark; a record may open a wait in another stream, so repeat."""
        while sum(stream.pass_marks() for stream in self.streams):
            pass

    def release(self, hold: HoldMark) -> None:
        """Open a hold's gate."""
        if self.forked:
            return
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
        self.check_process()
        for stream, _ in targets if self.captures else ():
            if stream.capture is not None:
                stream.capture.fail("a stream that is being captured cannot be waited for")
        began = time.perf_counter()
        with self.lock:
            resets = self.resets
            self.mode.wait(self, targets)
            while any(stream.completed < seq for stream, seq in targets):  # the mode has changed
                self.mode.wait(self, targets)
            if self.resets != resets:  # its result would be whatever stands there
                raise SimError("reset() on another thread dropped the work that this wait was for")
            self.wait_began = began
            for observer in tuple(self.observers):
                observer.waited(targets)
            self.wait_began = float("nan")
            self.raise_errors()

    def everything(self) -> list[Target]:
        """Targets of a device-wide wait."""
        return [(stream, stream.submitted) for stream in self.streams]

    def raise_errors(self) -> None:
        """Raise the first failure that nobody has heard of yet; later ones stay for later waits."""
        if self.errors:
            failed = self.errors.pop(0)
            why = text_of(failed.error) or type(failed.error).__name__
            message = f"{failed.name} failed on the device; queued at {failed.queued_at}: {why}"
            raise QueuedOperationError(message) from failed.error

    def check_hold(self, target: Target) -> HoldMark | None:
        """The hold that a wait for `target` meets; an error if only this thread could open it."""
        hold = hold_before(*target) if self.holds else None
        if hold is not None:
            check_hold(hold)
        return hold

    def check_poll(self, target: Target) -> None:
        """A loop on `query()` must end as well: an error once the hold's timeout has passed."""
        hold = hold_before(*target) if self.holds else None
        if hold is not None and time.monotonic() > hold.deadline:
            check_hold(hold)

    def wait_a_moment(self, target: Target) -> None:
        """Wait, without the lock, for something to happen that may lead to `target`.

        Raises:
            HeldStreamError: only this thread, or nobody, could open the way.
            SimError: called by device work itself.
        """
        hold = self.check_hold(target)
        busy = [stream for stream in self.streams if stream.running is not None]
        if any(stream.runner == threading.get_ident() for stream in busy):
            raise SimError("work that runs on the device cannot wait for the device")
        if hold is None and not busy and not self.mode.free_running:
            raise SimError(f"nothing can run, yet {target[0]} has not reached {target[1]}")
        left = 1.0 if hold is None else hold.deadline - time.monotonic()
        thread = threading.current_thread()
        self.waiting.add(thread)
        try:
            self.changed.wait(min(1.0, max(0.0, left) + 0.001))
        finally:
            self.waiting.discard(thread)
        if self.stopping.is_set() and thread is not threading.main_thread():
            raise SystemExit  # out of torch before the interpreter goes down; ends the thread

    def quiesce(self) -> None:
        """Let everything run that can (work behind a hold stays)."""
        if self.forked:
            return
        with self.lock:
            self.mode.quiesce(self)

    def pending(self) -> list[Operation]:
        """Queued or running work, in order of submission; marks left out."""
        with self.lock:
            work = [op for s in self.streams for op in s.pending if op.work is not None]
            return sorted(work, key=lambda operation: operation.queued)


def _finished() -> None:
    """What is left of an operation's work once it ran."""
