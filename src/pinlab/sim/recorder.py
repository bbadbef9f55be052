"""A record of what host and device did, for timelines and tests.

`record` follows the calling thread. A write by another host thread is seen late, and attributed to
the line on which the recording thread stands then; a write that leaves the bytes equal, and a read,
change nothing and are not seen (`Recording.note` can say that the host reads).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pinlab.sim.accelerator import Target
from pinlab.sim.extent import Runs, overlap, runs_of
from pinlab.sim.lines import HostLines, users_frame
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place, caller_place
from pinlab.sim.state import accelerator
from pinlab.sim.watch import Watched, host_reads, host_writes, running_writes


@dataclass(frozen=True)
class HostEvent:
    """Something the host did.

    Attributes:
        kind: ``"write"``, ``"read"``, ``"wait"``, ``"query"`` (one that answered true) or
            ``"note"``.
        label: the buffer's name, the streams waited for, or the remark.
        time: seconds on ``time.perf_counter`` at which it was over.
        place: the line that did it.
        began: seconds; for a wait the begin, else equal to `time`.
        touched: address ranges of the bytes written or read.
        targets: for a wait, pairs of a stream's index and the sequence number waited for.
    """

    kind: str
    label: str
    time: float
    place: Place
    began: float = float("nan")
    touched: Runs = ()
    targets: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.label} at {self.place}"


@dataclass(eq=False)
class Recording:
    """What was recorded. Times are seconds on `time.perf_counter`.

    Attributes:
        operations: kernels and copies in order of submission; they carry their own times.
        marks: event records, event waits and holds, in order of submission.
        host: what the host did, in the order in which it was noticed.
        watched: the buffers whose writes are noticed.
    """

    operations: list[Operation] = field(default_factory=list)
    host: list[HostEvent] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    ended: float = float("nan")
    marks: list[Operation] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.device = accelerator()
        self.lines = HostLines(self._look)
        self._thread = threading.get_ident()
        self._looking = False

    # -- what the device says; under its lock -----------------------------------------------------

    def submitted(self, operation: Operation) -> None:
        self._look(operation.queued)
        (self.marks if operation.is_mark else self.operations).append(operation)

    def completed(self, operation: Operation) -> None:
        """The bytes that the device wrote are no write of the host's."""
        self._look(operation.started, but_not=host_writes(operation))
        for buffer in self.watched:
            buffer.refresh(host_writes(operation))

    def waited(self, targets: Iterable[Target]) -> None:
        began, now = self.device.wait_began, time.perf_counter()
        polled = began != began  # nan: nobody waited, a query() answered true
        pairs = tuple((stream.index, seq) for stream, seq in targets)
        label = "stream " + ", ".join(str(index) for index, _ in pairs)
        kind, began = ("query", now) if polled else ("wait", began)
        self._look(began)
        self.host.append(HostEvent(kind, label, now, caller_place(), began, targets=pairs))

    # -- what the host does -----------------------------------------------------------------------

    def note(self, label: str, reads: Any = None) -> None:
        """Add a remark at this moment; with `reads`, that the host reads this buffer now.

        Args:
            label: the remark, or what to call the buffer.
            reads: a CPU tensor or numpy array. Reads cannot be noticed otherwise.

        >>> from pinlab import sim
        >>> sim.install()
        >>> with sim.record() as run:
        ...     run.note("step 2 begins")
        >>> run.host[0].kind, run.host[0].label
        ('note', 'step 2 begins')
        """
        touched = () if reads is None else runs_of(reads)
        kind, now = ("note" if reads is None else "read"), time.perf_counter()
        self._look(now)
        self.host.append(HostEvent(kind, label, now, caller_place(), now, touched))

    def clashes(self) -> list[tuple[HostEvent, Operation]]:
        """Host accesses to bytes that an operation, queued and not yet over, was to use.

        A write counts against bytes that the operation reads or writes, a read against those that
        it writes. This tells what happened in this run: another run may be luckier or less so.
        """
        return [
            (event, operation)
            for event in self.host
            for operation in self.operations
            if event.touched and _in_flight(operation, event.time) and _shared(event, operation)
        ]

    def buffers_of(self, operation: Operation) -> list[str]:
        """Names of the watched buffers that an operation reads or writes when it runs."""
        touched = host_reads(operation) + host_writes(operation)
        return [buffer.name for buffer in self.watched if overlap(buffer.runs, touched)]

    # -- looking at the watched bytes -------------------------------------------------------------

    def _look(self, at: float | None = None, but_not: Runs = ()) -> None:
        """Note the writes since the last look, as done by the line that runs now, before `at`."""
        if not self.watched or self._looking or threading.get_ident() != self._thread:
            return
        self._looking = True  # making an event runs code that may count as a line
        with self.device.lock:
            now = time.perf_counter() if at is None else at
            for buffer in self.watched:
                fresh = buffer.news(but_not + running_writes(self.device))
                if fresh:
                    event = HostEvent("write", buffer.name, now, self.lines.place, now, fresh)
                    self.host.append(event)
        self._looking = False

    def __repr__(self) -> str:
        return f"<recording: {len(self.operations)} operations, {len(self.host)} host events>"


def _in_flight(operation: Operation, at: float) -> bool:
    return operation.queued < at and not operation.ended <= at


def _shared(event: HostEvent, operation: Operation) -> Runs:
    touched = host_writes(operation)
    if event.kind == "write":
        touched += host_reads(operation)
    return overlap(event.touched, touched)


@contextmanager
def record(**watched: Any) -> Iterator[Recording]:
    """Record a block. Host tensors and arrays given by name are watched for writes, line by line.

    Args:
        watched: CPU tensors or numpy arrays, which are not resized in the block.

    Raises:
        TypeError: for something else than host memory.

    >>> from pinlab import sim
    >>> import torch
    >>> sim.install()
    >>> row = torch.zeros(2, pin_memory=True)
    >>> with sim.mode("lazy"), sim.record(row=row) as run:
    ...     on_device = row.to("sim", non_blocking=True)
    ...     _ = row.fill_(7)
    >>> run
    <recording: 1 operations, 1 host events>
    >>> [(event.kind, event.label, operation.name) for event, operation in run.clashes()]
    [('write', 'row', 'upload')]
    """
    recording = Recording()
    recording.watched += [Watched(name, value) for name, value in watched.items()]
    device = recording.device
    with device.lock:
        device.observers.append(recording)
    if watched:
        recording.lines.start(users_frame())
    try:
        yield recording
    finally:
        recording._look()
        if watched:
            recording.lines.stop()
        with device.lock:
            device.observers.remove(recording)
        recording.ended = time.perf_counter()
