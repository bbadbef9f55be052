"""A stream's queue: operations in submission order, and the marks that order two queues."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from pinlab.sim.operation import Fill, Operation
from pinlab.sim.place import Place
from pinlab.sim.quiet import quiet

if TYPE_CHECKING:
    from pinlab.sim.capture import Capture


class Ticket:
    """One recording of an event. Waits hold the ticket, so re-recording does not change them."""

    __slots__ = ("capture", "done", "seq", "stream", "time")

    def __init__(self, stream: StreamQueue) -> None:
        self.capture: Capture | None = None  # it was recorded in one: only that one may use it
        self.stream = stream
        self.seq = 0
        self.done = False
        self.time = float("nan")


class HoldMark:
    """A closed gate in a stream, opened by ``released = True`` (see ``Accelerator.release``)."""

    __slots__ = ("deadline", "owner", "place", "released", "stream", "timed")
    method = "a gate in the simulated queue"

    def __init__(self, stream: StreamQueue, place: Place, deadline: float, timed: bool) -> None:
        self.stream = stream
        self.place = place
        self.deadline = deadline  # time.monotonic() at which a wait gives up
        self.timed = timed  # a timer will release it, so its own thread may wait
        self.owner = threading.get_ident()
        self.released = False

    def __repr__(self) -> str:
        return f"<hold on stream {self.stream.index}, {self.place}>"


class StreamQueue:
    """Queue number ``index`` (0 is the default stream) and how far it got.

    ``pending[0]`` stays in place while it runs; ``submitted`` and ``completed`` are sequence
    numbers, so "everything queued until now is done" is ``completed >= submitted``.
    """

    __slots__ = (
        "capture",
        "completed",
        "index",
        "listed",
        "pending",
        "priority",
        "prologue",
        "runner",
        "running",
        "submitted",
        "wake",
        "worker",
    )

    def __init__(self, index: int, priority: int, lock: threading.RLock) -> None:
        self.index = index
        self.priority = priority
        self.pending: deque[Operation] = deque()
        self.capture: Capture | None = None  # its work is recorded, not queued
        self.prologue: list[Fill] | None = None
        self.running: Operation | None = None
        self.runner = 0  # the thread that runs it
        self.listed = True  # among the device's streams; False after a reset, until used again
        self.submitted = 0
        self.completed = 0
        self.worker: threading.Thread | None = None
        self.wake = threading.Condition(lock)

    @property
    def runnable(self) -> bool:
        """Whether its head is work that may run now."""
        return bool(self.pending) and self.pending[0].work is not None and self.running is None

    @property
    def idle(self) -> bool:
        """Whether everything submitted is done."""
        return self.completed >= self.submitted

    def start(self) -> Operation:
        """Mark the head as running, on the calling thread."""
        self.running = self.pending[0]
        self.runner = threading.get_ident()
        return self.running

    def pass_marks(self) -> bool:
        """Pop the marks at the head that are open; whether any was."""
        moved = False
        while self.pending and self.pending[0].work is None:
            mark = self.pending[0]
            if mark.prologue:
                do_fills(mark.prologue)
                mark.prologue = None
            if not _is_open(mark):
                break
            self.pop()
            moved = True
        return moved

    def pop(self) -> Operation:
        """Take the head off, done."""
        head = self.pending[0]
        head.done = True
        self.completed = head.seq
        self.pending.popleft()
        self.running = None
        if not self.pending and self.prologue:  # no next entry that would do them
            fills, self.prologue = self.prologue, None
            do_fills(fills)
        return head

    def clear(self) -> None:
        """Forget the entries that do not run just now; open the gates and events among them."""
        keep = [entry for entry in self.pending if entry is self.running]
        for entry in self.pending:
            if isinstance(entry.guard, HoldMark):
                entry.guard.released = True
            elif isinstance(entry.guard, Ticket) and entry.kind == "record":
                entry.guard.done = True
                entry.guard.time = time.perf_counter()
        self.pending = deque(keep)
        self.capture = None
        self.prologue = None
        if not keep:
            self.completed = self.submitted

    def __repr__(self) -> str:
        return f"<stream {self.index}: {len(self.pending)} pending, {self.completed} done>"


def do_fills(fills: list[Fill]) -> None:
    """Fill recycled blocks with the recognisable byte."""
    with quiet():
        for block, byte in fills:
            block.fill_(byte)


def used_by_others(owner: StreamQueue, block: torch.Tensor, streams: Iterable[StreamQueue]) -> bool:
    """Whether work pending on a stream other than `owner` touches a block of device memory."""
    others = [stream for stream in streams if stream is not owner and stream.pending]
    if not others:
        return False
    address = block.untyped_storage().data_ptr()
    return any(
        tensor.untyped_storage().data_ptr() == address
        for stream in others
        for entry in stream.pending
        for tensor in (*entry.device_reads, *entry.device_writes)
    )


def _is_open(mark: Operation) -> bool:
    guard = mark.guard
    if isinstance(guard, HoldMark):
        if guard.released:
            mark.ended = time.perf_counter()
        return guard.released
    assert isinstance(guard, Ticket)
    if mark.kind == "record":
        guard.done = True
        guard.time = mark.ended = time.perf_counter()
        return True
    return guard.done
