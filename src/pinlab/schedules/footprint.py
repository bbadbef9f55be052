"""Which bytes a queued operation touches, and whether the host changed them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from itertools import pairwise

import torch

from pinlab.sim import Operation

Range = tuple[int, int]  # addresses, the end not included


class Watch:
    """The bytes that one piece of a pending operation will read, as they were at the last look."""

    __slots__ = ("last", "view")

    def __init__(self, address: int, nbytes: int) -> None:
        self.view = memoryview((ctypes.c_char * nbytes).from_address(address)).cast("B")
        self.last = bytes(self.view)

    def changed(self) -> bool:
        """Whether the bytes differ from the last look; looks."""
        now = bytes(self.view)
        if now == self.last:
            return False
        self.last = now
        return True


def watches(operation: Operation, pieces: int) -> list[list[Watch]]:
    """For each piece of the operation, watches on the host bytes that it will read."""
    if not operation.host_reads:
        return []
    if pieces == 1:
        return [[Watch(*span) for t in operation.host_reads for span in _spans(t)]]
    (source,) = operation.host_reads
    size, item = source.numel(), source.element_size()
    cuts = [round_ * (size // pieces) + min(round_, size % pieces) for round_ in range(pieces + 1)]
    start = source.data_ptr()
    return [[Watch(start + a * item, (b - a) * item)] for a, b in pairwise(cuts)]


def _spans(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Address and length of the tensor's bytes: one run if dense, else its rows."""
    if tensor.numel() == 0:
        return []
    item = tensor.element_size()
    if tensor.is_contiguous() or tensor.dim() == 0:
        return [(tensor.data_ptr(), tensor.numel() * item)]
    if tensor.dim() == 1:
        step = tensor.stride(0) * item
        return [(tensor.data_ptr() + i * step, item) for i in range(tensor.shape[0])]
    return [span for row in tensor for span in _spans(row)]


class Footprint:
    """Address ranges that an operation reads and writes, host and device alike."""

    __slots__ = ("reads", "writes")

    def __init__(self, operation: Operation) -> None:
        self.reads = [_range(t) for t in (*operation.device_reads, *operation.host_reads)]
        self.writes = [_range(t) for t in (*operation.device_writes, *operation.host_writes)]
        self.writes += [_range(block) for block, _ in operation.prologue or ()]

    def writes_also(self, blocks: Iterable[torch.Tensor]) -> None:
        """It writes these too."""
        self.writes += [_range(block) for block in blocks]

    def conflicts(self, other: Footprint) -> bool:
        """Whether the order of the two can matter: one writes what the other touches."""
        return (
            _overlap(self.writes, other.writes)
            or _overlap(self.writes, other.reads)
            or _overlap(self.reads, other.writes)
        )

    def touches(self, memory: torch.Tensor) -> bool:
        """Whether it reads or writes any of these bytes."""
        span = [_range(memory)]
        return _overlap(self.reads, span) or _overlap(self.writes, span)


def _range(tensor: torch.Tensor) -> Range:
    if tensor.numel() == 0:
        return (0, 0)
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    extent = 1 + sum((n - 1) * step for n, step in steps)
    start = tensor.data_ptr()
    return start, start + extent * tensor.element_size()


def _overlap(some: list[Range], others: list[Range]) -> bool:
    return any(a < d and c < b for a, b in some for c, d in others)
