"""Watching host buffers: which of their bytes the host changed since the last look.

Bytes that the device writes (a download into a watched buffer) are told apart: they belong to the
operation, not to the line on which the host happened to stand.
"""

from __future__ import annotations

from typing import Any

from pinlab.sim.accelerator import Accelerator
from pinlab.sim.extent import Runs, changed, merged, overlap, read, runs_of, without
from pinlab.sim.operation import Operation


class Watched:
    """One buffer under a name. It must not be resized while it is watched.

    >>> import torch
    >>> row = torch.zeros(4, dtype=torch.uint8)
    >>> buffer = Watched("row", row)
    >>> row[1:3] = 7
    >>> [stop - start for start, stop in buffer.news()]
    [2]
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value  # keeps the memory alive
        self.runs = runs_of(value)
        self.last = read(self.runs)

    def news(self, but_not: Runs = ()) -> Runs:
        """Addresses that changed since the last look, those in `but_not` left for later."""
        now = read(self.runs)
        if now == self.last:
            return ()
        found = changed(self.runs, self.last, now)
        if but_not and overlap(found, but_not):
            kept = overlap(self.runs, but_not)
            now = [_patched(run, new, old, kept) for run, new, old in self._pieces(now)]
            found = without(found, but_not)
        self.last = now
        return found

    def refresh(self, runs: Runs) -> None:
        """Take the bytes in `runs` as seen."""
        theirs = overlap(self.runs, runs)
        if theirs:
            now = read(self.runs)
            self.last = [_patched(run, old, new, theirs) for run, new, old in self._pieces(now)]

    def _pieces(self, now: list[bytes]) -> Any:
        return zip(self.runs, now, self.last, strict=True)

    def __repr__(self) -> str:
        size = sum(stop - start for start, stop in self.runs)
        return f"<watched {self.name}, {size} bytes>"


def _patched(run: tuple[int, int], base: bytes, other: bytes, where: Runs) -> bytes:
    """`base`, with the bytes of `other` at the addresses in `where`."""
    result = bytearray(base)
    for start, stop in overlap((run,), where):
        result[start - run[0] : stop - run[0]] = other[start - run[0] : stop - run[0]]
    return bytes(result)


def host_writes(operation: Operation) -> Runs:
    """The host bytes that an operation writes when it runs."""
    return merged(run for tensor in operation.host_writes for run in runs_of(tensor))


def host_reads(operation: Operation) -> Runs:
    """The host bytes that an operation reads when it runs; none where they were staged."""
    return merged(run for tensor in operation.host_reads for run in runs_of(tensor))


def running_writes(device: Accelerator) -> Runs:
    """The host bytes that the device may be writing at this moment."""
    heads = [stream.pending[0] for stream in device.streams if stream.pending]
    started = [op for op in heads if op.host_writes and op.started == op.started]  # not nan
    return merged(run for operation in started for run in host_writes(operation))
