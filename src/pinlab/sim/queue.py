"""A stream's queue: operations in submission order, and the marks that order two queues."""

from __future__ import annotations

import threading
import time
from collections import deque

from pinlab.sim.operation import Operation, Work
from pinlab.sim.place import Place


class Ticket:
    """One recording of an event. Waits hold the ticket, so re-recording does not change them."""

    __slots__ = ("done", "seq", "stream", "time")

    def __init__(self, stream: StreamQueue) -> None:
        self.stream = stream
        self.seq = 0
        self.done = False
        self.time = float("nan")


class HoldMark:
    """A closed gate in a stream, opened by ``released = True`` (see ``Accelerator.release``)."""

    __slots__ = ("deadline", "owner", "place", "released", "stream", "timed")

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
        "completed",
        "index",
        "pending",
        "priority",
        "prologue",
        "running",
        "submitted",
        "wake",
        "worker",
    )

    def __init__(self, index: int, priority: int, lock: threading.RLock) -> None:
        self.index = index
        self.priority = priority
        self.pending: deque[Operation] = deque()
        self.prologue: list[Work] | None = None
        self.running: Operation | None = None
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

    def pass_marks(self) -> bool:
        """Pop the marks at the head that are open; whether any was."""
        moved = False
        while self.pending and self.pending[0].work is None:
            mark = self.pending[0]
            if not _is_open(mark):
                break
            self.pop()
            moved = True
        return moved

    def pop(self) -> Operation:
        """Take the head off, done."""
        head = self.pending.popleft()
        head.done = True
        self.completed = head.seq
        return head

    def __repr__(self) -> str:
        return f"<stream {self.index}: {len(self.pending)} pending, {self.completed} done>"


def _is_open(mark: Operation) -> bool:
    guard = mark.guard
    if isinstance(guard, HoldMark):
        return guard.released
    assert isinstance(guard, Ticket)
    if mark.kind == "record":
        guard.done = True
        guard.time = mark.ended = time.perf_counter()
        return True
    return guard.done
