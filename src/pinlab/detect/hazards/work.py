"""What one queued operation touches, and what became of those bytes since."""

from __future__ import annotations

import torch

from pinlab.detect.hazards.hazard import Kind
from pinlab.sim.blocks import Block
from pinlab.sim.extent import Run, Runs, merged, overlap, read, runs_of
from pinlab.sim.operation import Operation
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


class Flight:
    """A copy or kernel that uses host memory late, until a wait has covered it."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        tensors = (*operation.host_reads, *operation.host_writes)
        self.tensor = tensors[0]
        self.watched = [Watched("", tensor) for tensor in tensors]
        self.runs: Runs = merged(run for watched in self.watched for run in watched.runs)
        self.written: Runs = merged(run for t in operation.host_writes for run in runs_of(t))
        self.block = host_memory.find(self.tensor.data_ptr())
        self.write_kind = Kind.SOURCE_WRITTEN if operation.host_reads else Kind.DESTINATION_WRITTEN

    def news(self, but_not: Runs) -> list[tuple[bytes, bytes]]:
        """Bytes before and after, for each buffer that the host changed since the last look."""
        found = []
        for watched in self.watched:
            old = list(watched.last)
            fresh = watched.news(but_not)
            if fresh:
                before = b"".join(_cut(watched.runs, old, run) for run in fresh)
                found.append((before, b"".join(read(fresh))))
        return found

    def refresh(self, runs: Runs) -> None:
        """The device wrote these bytes."""
        for watched in self.watched:
            watched.refresh(runs)


def _cut(runs: Runs, content: list[bytes], wanted: Run) -> bytes:
    for (start, stop), data in zip(runs, content, strict=True):
        if start <= wanted[0] and wanted[1] <= stop:
            return data[wanted[0] - start : wanted[1] - start]
    return b""
