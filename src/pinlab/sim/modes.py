"""When does queued work run? Each mode is one answer.

threaded  each stream's thread runs it as soon as it can (the default; a link model adds time)
eager     at submission
lazy      only when somebody waits, and then only what that wait needs
random    whenever a seeded generator says so; the same seed gives the same run
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

from pinlab.sim.operation import Fill, Operation
from pinlab.sim.queue import StreamQueue, Ticket

if TYPE_CHECKING:
    from pinlab.sim.accelerator import Accelerator, Target

PATIENCE = 1000  # polls without progress before `lazy` takes a polling loop for a wait


class Mode:
    """Base: runs work on the waiting host thread, `choose` picks the stream."""

    name = "base"
    free_running = False
    exclusive = False  # True: `sim.mode` refuses to replace it

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        """Called after `operation` was queued."""

    def released(self, device: Accelerator) -> None:
        """Called after a hold was opened."""

    def polled(self, device: Accelerator, target: Target) -> None:
        """Called before a `query()` answers."""

    def observed(self, device: Accelerator) -> None:
        """Called when the host is about to see how far the device got, e.g. by a `query()`."""

    def answered(self, device: Accelerator) -> None:
        """Called when the host has seen it and goes on."""

    def filling(self, device: Accelerator, stream: StreamQueue, fill: Fill, freed: int) -> None:
        """Called before recycled bytes are written: now, or once entry `freed` of `stream` ran."""

    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        """Run work until every target is reached, or another thread has changed the mode."""
        for stream, seq in self.order(targets):
            while stream.completed < seq and device.mode is self:
                runnable = _needed(stream)
                if runnable.runnable:
                    device.run_next(runnable)
                else:
                    device.wait_a_moment((stream, seq))

    def order(self, targets: list[Target]) -> list[Target]:
        """In which order a device-wide wait takes the streams."""
        return targets

    def quiesce(self, device: Accelerator) -> None:
        """Run whatever can run, streams in the order of a device-wide wait."""
        while ready := [s for s, _ in self.order(device.everything()) if s.runnable]:
            device.run_next(ready[0])

    def __repr__(self) -> str:
        return self.name


class Eager(Mode):
    """Run at submission: the luckiest schedule, in which every copy is done at once."""

    name = "eager"

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        self.quiesce(device)

    def released(self, device: Accelerator) -> None:
        self.quiesce(device)


class Lazy(Mode):
    """Run nothing before somebody waits: the unluckiest schedule of one stream.

    Args:
        order: of the streams at a device-wide wait, ``"creation"`` or ``"reversed"``.
    """

    name = "lazy"

    def __init__(self, order: str = "creation") -> None:
        if order not in ("creation", "reversed"):
            raise ValueError(f"order={order!r}; lazy mode knows 'creation' and 'reversed'")
        self.reversed = order == "reversed"
        self.polls = 0

    def order(self, targets: list[Target]) -> list[Target]:
        return targets[::-1] if self.reversed else targets

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        self.polls = 0

    def polled(self, device: Accelerator, target: Target) -> None:
        """A loop on `query()` is a wait in disguise: after 1,000 polls, run one operation."""
        stream, seq = target
        self.polls += 1
        if self.polls > PATIENCE and stream.completed < seq:
            if (runnable := _needed(stream)).runnable:
                device.run_next(runnable)
            else:
                device.check_hold(target)

    def __repr__(self) -> str:
        return "lazy, streams reversed" if self.reversed else "lazy"


class Random(Mode):
    """Flip a seeded coin at every submission, poll and wait: run one more operation or not.

    Args:
        seed: of the generator; the same seed and program give the same run.
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        if not isinstance(seed, int):
            raise TypeError(f"seed={seed!r}; it must be a whole number")
        self.seed = seed
        self.coin = random.Random(seed)

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        while self.coin.random() < 0.5 and self._step(device):
            pass

    def polled(self, device: Accelerator, target: Target) -> None:
        if self.coin.random() < 0.5:
            self._step(device)

    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        while unmet := [t for t in targets if t[0].completed < t[1]]:
            if device.mode is not self:
                return
            if not self._step(device):
                device.wait_a_moment(unmet[0])

    def quiesce(self, device: Accelerator) -> None:
        while self._step(device):
            pass

    def _step(self, device: Accelerator) -> bool:
        ready = [stream for stream in device.streams if stream.runnable]
        if ready:
            device.run_next(self.coin.choice(ready))
        return bool(ready)

    def __repr__(self) -> str:
        return f"random, seed {self.seed}"


class Threaded(Mode):
    """Each stream has a thread of its own, started on first use."""

    name = "threaded"
    free_running = True

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        if operation.work is None:  # a mark may open the way of other streams
            self._wake(device)
        elif operation.stream.running is None and operation.stream.runnable:
            self._wake_one(device, operation.stream)

    def released(self, device: Accelerator) -> None:
        self._wake(device)

    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        for stream, seq in targets:
            while stream.completed < seq and device.mode is self:
                self._wake(device)
                device.wait_a_moment((stream, seq))

    def quiesce(self, device: Accelerator) -> None:
        goal = device.everything()  # not what other threads queue meanwhile
        while any((s.runnable or s.running) and s.completed < seq for s, seq in goal):
            self._wake(device)
            device.changed.wait(1.0)

    def _wake(self, device: Accelerator) -> None:
        for stream in device.streams:
            if stream.runnable:
                self._wake_one(device, stream)

    def _wake_one(self, device: Accelerator, stream: StreamQueue) -> None:
        if stream.worker is None:
            start_worker(device, stream)
        stream.wake.notify()


def start_worker(device: Accelerator, stream: StreamQueue) -> None:
    """Start the thread that runs a stream's queue in `threaded` mode."""
    name = f"sim-stream-{stream.index}"
    worker = threading.Thread(target=_serve, args=(device, stream), name=name, daemon=True)
    worker.start()
    stream.worker = worker  # not before: Ctrl-C may strike in `start`


def _serve(device: Accelerator, stream: StreamQueue) -> None:
    """A worker's life: one operation after the other, until a reset or the exit."""
    try:
        while _serve_one(device, stream):
            pass
    finally:
        with device.lock:
            if stream.worker is threading.current_thread():
                stream.worker = None  # the next one starts when there is work again


def _serve_one(device: Accelerator, stream: StreamQueue) -> bool:
    with device.lock:
        while stream.listed and not device.stopping.is_set():
            if device.mode.free_running and stream.runnable:
                break
            stream.wake.wait()
        else:
            return False
        operation = stream.start()
    try:
        if operation.nbytes:
            seconds = device.link.seconds(operation.nbytes)
            device.stopping.wait(min(seconds, threading.TIMEOUT_MAX))
        device.execute(operation)
    except BaseException as error:  # a SystemExit, say; the host must not wait for ever
        operation.error = error
    with device.lock:
        device.complete(operation)
        device.mode.released(device)
    return True


def _needed(stream: StreamQueue) -> StreamQueue:
    """The stream that must move next so that `stream` can: follow event waits."""
    while stream.pending and stream.pending[0].kind == "wait":
        guard = stream.pending[0].guard
        assert isinstance(guard, Ticket)
        stream = guard.stream
    return stream


MODES = {"threaded": Threaded, "eager": Eager, "lazy": Lazy, "random": Random}
