"""One entry of a stream's queue: what it does, which bytes it touches, where it was queued.

Two kinds of entries. *Work* (kernels and copies) takes time and touches bytes. *Marks* (event
records, event waits, holds) only order work; a mark is passed as soon as it is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import TYPE_CHECKING

import torch

from pinlab.sim.place import Place, line_at

if TYPE_CHECKING:
    from pinlab.sim.queue import StreamQueue

Tensors = tuple[torch.Tensor, ...]
Work = Callable[[], object]
Fill = tuple[torch.Tensor, int]  # a recycled block and the byte to fill it with

WORK_KINDS = ("kernel", "upload", "download")
MARK_KINDS = ("record", "wait", "hold")


class Operation:
    """A queued operation.

    Attributes:
        name: the torch operator or copy, e.g. ``"aten.add.Tensor"``, ``"upload"``.
        kind: one of ``WORK_KINDS`` or ``MARK_KINDS``.
        device_reads, device_writes: CPU tensors that stand for device memory.
        host_reads, host_writes: host tensors whose bytes are read or written *when it runs*.
        nbytes: bytes that cross the link; 0 for kernels.
        queued, started, ended: seconds on ``time.perf_counter``; ``nan`` until known.
        seq: position in its stream, counted from 1.
    """

    # What most operations never change stands here once, not in each of them: a launch is short.
    pieces: Callable[[int], list[Work]] | None = None  # how to tear it, if it can be torn
    tracked = False  # the host allocator knows that it uses a pinned block
    stale = False  # a replay whose pinned memory was dropped since the capture
    waited = False  # the call that submits it also waits for it, so the host cannot act
    prologue: list[Fill] | None = None  # of recycled blocks, done just before it
    guard: object = None  # what a mark waits for: a Ticket or a Hold
    seq = 0
    done = False
    error: BaseException | None = None
    queued = started = ended = float("nan")
    frame_code: CodeType | None = None  # of the user's function that queued it,
    frame_at = 0  # and how far that was: an index of its bytecode

    def __init__(
        self,
        name: str,
        kind: str,
        stream: StreamQueue,
        work: Work | None,
        device_reads: Tensors = (),
        device_writes: Tensors = (),
        host_reads: Tensors = (),
        host_writes: Tensors = (),
        nbytes: int = 0,
    ) -> None:
        self.name = name
        self.kind = kind
        self.stream = stream
        self.work = work
        self.device_reads = device_reads
        self.device_writes = device_writes
        self.host_reads = host_reads
        self.host_writes = host_writes
        self.nbytes = nbytes

    @property
    def is_mark(self) -> bool:
        """True for records, waits and holds."""
        return self.work is None

    @property
    def queued_at(self) -> Place:
        """The user's line that queued it."""
        code = self.frame_code
        if code is None:
            return Place("<unknown>", 0)
        return Place(code.co_filename, line_at(code, self.frame_at), code.co_name)

    @property
    def elements(self) -> int:
        """Elements that a transfer moves; 0 for marks."""
        device = self.device_writes or self.device_reads
        return device[0].numel() if device else 0

    @property
    def lane(self) -> str:
        """``"copy"`` for transfers, ``"compute"`` for kernels (the lanes of a timeline)."""
        return "copy" if self.kind in ("upload", "download") else "compute"

    def tensors(self) -> Iterable[torch.Tensor]:
        """Every tensor it touches, host and device."""
        yield from self.device_reads
        yield from self.device_writes
        yield from self.host_reads
        yield from self.host_writes

    def __repr__(self) -> str:
        state = "failed" if self.error else "done" if self.done else "pending"
        size = f", {self.nbytes} bytes" if self.nbytes else ""
        return f"<{self.name} on stream {self.stream.index}, {state}{size}, {self.queued_at}>"
