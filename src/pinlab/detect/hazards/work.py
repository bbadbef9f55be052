"""What one queued operation touches, and what became of those bytes since."""

from __future__ import annotations

import torch

from pinlab.detect.hazards.hazard import Kind
from pinlab.sim.blocks import Block
from pinlab.sim.extent import Run, Runs, merged, overlap, read, runs_of
from pinlab.sim.operation import Operation
from pinlab.sim.pinned import PinnedBlock
from pinlab.sim.state import host_memory
from pinlab.sim.watch import Watched


class Work:
    """A queued operation's bytes, host and device alike (both have addresses)."""

    __slots__ = ("evicted", "operation", "reads", "writes")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.reads = [(t, runs_of(t)) for t in (*operation.device_reads, *operation.host_reads)]
        self.writes = [(t, runs_of(t)) for t in (*operation.device_writes, *operation.host_writes)]
        self.evicted: list[Block] = []  # blocks that were handed out again meanwhile

    def conflict(self, later: Work) -> torch.Tensor | None:
        """A tensor of this operation that both touch and one writes; None if there is none."""
        for tensor, runs in self.writes:
            for _, theirs in (*later.writes, *later.reads):
                if overlap(runs, theirs):
                    return tensor
        for tensor, runs in self.reads:
            for _, theirs in later.writes:
                if overlap(runs, theirs):
                    return tensor
        return None

    def touches(self, memory: torch.Tensor) -> bool:
        """Whether it uses any byte of `memory`."""
        span = runs_of(memory)
        return any(overlap(runs, span) for _, runs in (*self.reads, *self.writes))


class Part:
    """Host memory that a pending operation will read, or will write."""

    __slots__ = ("block", "tensor", "watched", "write_kind")

    def __init__(self, tensor: torch.Tensor, write_kind: Kind) -> None:
        self.tensor = tensor
        self.watched = Watched("", tensor)
        self.block = host_memory.find(tensor.data_ptr())
        self.write_kind = write_kind  # what a write of the host's into it is


class Flight:
    """A copy or kernel that uses host memory late, until a wait has covered it.

    One that is `captured` was not queued: every replay will read what the host leaves there.
    """

    def __init__(self, operation: Operation, captured: bool = False) -> None:
        self.operation = operation
        self.captured = captured
        if captured:
            self.parts = [Part(tensor, Kind.CAPTURED_WRITTEN) for tensor in operation.host_reads]
            self.written: Runs = ()
            return
        written = [Part(tensor, Kind.DESTINATION_WRITTEN) for tensor in operation.host_writes]
        runs = [part.watched.runs for part in written]
        read = [Part(tensor, Kind.SOURCE_WRITTEN) for tensor in operation.host_reads]
        self.parts = [part for part in read if part.watched.runs not in runs] + written
        self.written = merged(run for part in written for run in part.watched.runs)

    def overlapping(self, runs: Runs) -> list[Part]:
        """The parts of which `runs` holds any byte."""
        return [part for part in self.parts if overlap(part.watched.runs, runs)]

    def over(self, block: PinnedBlock) -> list[Part]:
        """The parts that lie in a pinned block."""
        return [part for part in self.parts if part.block is block]

    def news(self, but_not: Runs) -> list[tuple[Part, bytes, bytes]]:
        """Parts that the host changed since the last look, with the bytes before and after."""
        found = []
        for part in self.parts:
            old = list(part.watched.last)
            fresh = part.watched.news(but_not)
            if fresh:
                before = b"".join(_cut(part.watched.runs, old, run) for run in fresh)
                found.append((part, before, b"".join(read(fresh))))
        return found

    def refresh(self, runs: Runs) -> None:
        """The device wrote these bytes."""
        for part in self.parts:
            part.watched.refresh(runs)


def _cut(runs: Runs, content: list[bytes], wanted: Run) -> bytes:
    for (start, stop), data in zip(runs, content, strict=True):
        if start <= wanted[0] and wanted[1] <= stop:
            return data[wanted[0] - start : wanted[1] - start]
    return b""
