"""Streams and events as Python objects, with the names and meanings of `torch.cuda`'s."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from pinlab.sim.errors import CaptureError
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue, Ticket
from pinlab.sim.state import accelerator

POOL = 32  # streams per priority, handed out in turn, as in torch


class _Thread(threading.local):
    """What each thread has of its own. A default of the class is found faster than none."""

    current: StreamQueue | None = None  # None: the default stream
    outer: list[StreamQueue | None] | None = None  # what it goes back to after `with` blocks


_local = _Thread()
_pools: dict[int, list[StreamQueue]] = {}
_next: dict[int, int] = {}


class Stream:
    """A queue of device work that runs in order of submission.

    Args:
        device: ``"sim"`` or nothing.
        priority: 0 or, for a pool of its own, a negative number; it does not change the schedule.

    Streams come from a pool of 32: the 33rd is the first again, as in torch.
    """

    def __init__(self, device: Any = None, priority: int = 0, queue: StreamQueue | None = None):
        check_device(device)
        self.queue = queue if queue is not None else _from_pool(min(0, max(-1, priority)))

    @property
    def device(self) -> torch.device:
        return torch.device("sim", 0)

    @property
    def device_index(self) -> int:
        return 0

    @property
    def stream_id(self) -> int:
        """Its number in order of creation; 0 is the default stream."""
        return self.queue.index

    @property
    def priority(self) -> int:
        return self.queue.priority

    def synchronize(self) -> None:
        """Return when all work queued here so far is done."""
        device = accelerator()
        device.wait([(self.queue, self.queue.submitted)])

    def query(self) -> bool:
        """Whether all work queued here so far is done. Does not wait."""
        return _poll(self.queue, self.queue.submitted)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event` (a new one if None) here and return it."""
        event = event if event is not None else Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Work queued here from now on runs after the event's latest recording."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Work queued here from now on runs after what is queued on `stream` now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        _outer().append(_local.current)
        _local.current = self.queue
        return self

    def __exit__(self, *_: object) -> None:
        _local.current = _outer().pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.queue is self.queue

    def __hash__(self) -> int:
        return hash(self.queue)

    def __repr__(self) -> str:
        with accelerator().lock:
            waiting = sum(op.work is not None for op in self.queue.pending)
        return f"<pinlab.sim.Stream {self.stream_id}, {waiting} pending>"


class Event:
    """A point in a stream. Until it is recorded it counts as complete.

    Args:
        enable_timing: needed for `elapsed_time`.
        blocking, interprocess: accepted; they change nothing here.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess:
            raise ValueError(
                "interprocess=True: events of the simulated device stay in one process"
            )
        self.enable_timing = enable_timing
        self.ticket: Ticket | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what is queued on `stream` (the current one if None) now."""
        queue = (stream if stream is not None else current_stream()).queue
        mark = Operation("record", "record", queue, None)
        mark.guard = ticket = Ticket(queue)
        accelerator().submit(mark)
        self.ticket = ticket

    def wait(self, stream: Stream | None = None) -> None:
        """Make `stream` (the current one if None) wait for the latest recording."""
        queue = (stream if stream is not None else current_stream()).queue
        ticket = self.ticket
        if ticket is None:
            return
        if ticket.capture is not None and ticket.capture.over:
            raise CaptureError("a stream cannot wait for an event of a capture that has ended")
        mark = Operation("wait", "wait", queue, None)
        mark.guard = ticket
        accelerator().submit(mark)

    def query(self) -> bool:
        """Whether the latest recording was reached. Does not wait."""
        ticket = self._of_the_queue("asked about")
        return ticket is None or _poll(ticket.stream, ticket.seq)

    def synchronize(self) -> None:
        """Return when the latest recording was reached."""
        ticket = self._of_the_queue("waited for")
        if ticket is not None:
            accelerator().wait([(ticket.stream, ticket.seq)])

    def _of_the_queue(self, what: str) -> Ticket | None:
        """The latest recording, unless it is part of a captured graph: then nothing was queued."""
        ticket = self.ticket
        if ticket is not None and ticket.capture is not None:
            why = f"an event that was recorded in a capture cannot be {what} by the host"
            if ticket.capture.over:
                raise CaptureError(why)
            ticket.capture.fail(why)
        return ticket

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between the two recordings, in this machine's time.

        Raises:
            ValueError: if timing was not enabled, or one of the two was not recorded.
            RuntimeError: if one of the two is not complete.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("both events must be created with enable_timing=True")
        first, last = self._of_the_queue("timed"), end_event._of_the_queue("timed")
        if first is None or last is None:
            raise ValueError("both events must be recorded before calling elapsed_time")
        if not (self.query() and end_event.query()):
            raise RuntimeError("both events must be completed before calling elapsed_time")
        return (last.time - first.time) * 1e3

    def __repr__(self) -> str:
        ticket = self.ticket
        if ticket is None:
            return "<pinlab.sim.Event, not recorded>"
        state = "captured" if ticket.capture else "reached" if ticket.done else "pending"
        return f"<pinlab.sim.Event on stream {ticket.stream.index}, {state}>"


def check_device(device: Any) -> None:
    """Accept None, 0 and the simulated device."""
    if device is None or (
        type(device) is torch.device and device.type == "sim" and not device.index
    ):
        return
    if device == 0:
        return
    if isinstance(device, int) or torch.device(device) not in (
        torch.device("sim"),
        torch.device("sim", 0),
    ):
        raise ValueError(f"device {device!r}: the simulated device is 'sim', index 0")


def current_queue() -> StreamQueue:
    """The queue that the calling thread submits to."""
    return _local.current or accelerator().default


def current_stream(device: Any = None) -> Stream:
    """The stream that the calling thread submits to."""
    check_device(device)
    return Stream(queue=current_queue())


def default_stream(device: Any = None) -> Stream:
    """Stream 0."""
    check_device(device)
    return Stream(queue=accelerator().default)


def set_stream(stream: Stream | None) -> None:
    """Submit to `stream` from now on, on this thread."""
    if stream is not None:
        _local.current = stream.queue


@contextmanager
def stream(stream: Stream | None) -> Iterator[Stream | None]:
    """Submit to `stream` within the block, on this thread; None changes nothing."""
    outer = _local.current
    set_stream(stream)
    try:
        yield stream
    finally:
        _local.current = outer


def synchronize(device: Any = None) -> None:
    """Return when all streams are done with what is queued now."""
    check_device(device)
    device_ = accelerator()
    device_.check_process()
    for capture in device_.captures:
        capture.fail("the device cannot be waited for while a stream is being captured")
    with device_.lock:
        device_.wait(device_.everything())


def reset_pool() -> None:
    """Forget the pool: streams are created anew, from number 1."""
    _pools.clear()
    _next.clear()
    _local.current = None


def _from_pool(priority: int) -> StreamQueue:
    device = accelerator()
    with device.lock:
        turn = _next.get(priority, 0)
        _next[priority] = (turn + 1) % POOL
        pool = _pools.setdefault(priority, [])
        if turn == len(pool):
            pool.append(device.new_stream(priority))
        return pool[turn]


def _poll(queue: StreamQueue, seq: int) -> bool:
    device = accelerator()
    device.check_process()
    if queue.capture is not None:
        queue.capture.fail("a stream that is being captured cannot be asked about")
    with device.lock:
        device.mode.polled(device, (queue, seq))
        done = queue.completed >= seq
        device.mode.answered(device)
        if not done:
            device.check_poll((queue, seq))
            return False
        for observer in device.observers:
            observer.waited([(queue, seq)])
        return True


def _outer() -> list[StreamQueue | None]:
    """The streams that this thread goes back to at the end of its ``with`` blocks."""
    if _local.outer is None:
        _local.outer = []
    return _local.outer
