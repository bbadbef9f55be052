"""The bytes that one object reaches: where they start, which runs they form, who holds them.

This file answers two questions and no others: *which bytes* does an array, tensor or buffer
reach, and *which bytes do two such sets have in common*. Grouping and naming are in
``aliases.py``. Addresses stay in here: they differ from run to run, so nothing prints them.

What it does not see: one file mapped twice, or one page mapped at two addresses. Two objects
share memory here when they share addresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Runs = npt.NDArray[np.int64]
"""Sorted, disjoint ``[start, stop)`` rows, shape ``(n, 2)``, in bytes."""

RUN_LIMIT = 1 << 20
"""More separate runs than this and only the outer bounds of an object are kept."""


@dataclass(frozen=True)
class Extent:
    """What one object reaches. ``address`` and ``block`` are absolute; ``strides`` in bytes."""

    kind: str  # "numpy", "torch", "memoryview", "bytearray", ...
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    address: int  # of the element with all indices zero
    block: tuple[int, int]  # the allocation these bytes lie in, as far as the object tells
    space: str  # "host", or the device whose memory this is
    claim: int  # 0 allocated the block, 1 may have (a storage that torch cannot resize), 2 borrows
    writable: bool
    pinned: bool

    @property
    def runs(self) -> Runs:
        """The bytes reached, as runs; the outer bounds alone if there are too many runs."""
        return byte_runs(self.address, self.shape, self.strides, self.itemsize)

    @property
    def exact(self) -> bool:
        """False if ``runs`` are outer bounds only."""
        return _run_count(self.shape, self.strides, self.itemsize)[1] <= RUN_LIMIT

    def __repr__(self) -> str:
        return f"Extent({self.kind} {self.dtype} {self.shape}, {covered(self.runs)} bytes)"


def byte_runs(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> Runs:
    """The bytes that a strided layout reaches, as sorted disjoint ``[start, stop)`` runs.

    Strides are in bytes and may be negative or zero. Every second int32 of six:

    >>> byte_runs(0, (3,), (8,), 4).tolist()
    [[0, 4], [8, 12], [16, 20]]
    >>> byte_runs(20, (6,), (-4,), 4).tolist()   # reversed: the same bytes as forwards
    [[0, 24]]
    >>> byte_runs(0, (5, 0), (8, 8), 8).tolist()   # no element, no byte
    []
    """
    if math.prod(shape) == 0 or itemsize == 0:
        return np.empty((0, 2), dtype=np.int64)
    first = address + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    axes, count = _run_count(shape, strides, itemsize)
    length = itemsize
    while axes and axes[0][0] <= length:  # this axis continues the run without a gap
        step, size = axes.pop(0)
        length += (size - 1) * step
    if count > RUN_LIMIT:
        last = first + sum((size - 1) * step for step, size in axes)
        return np.array([[first, last + length]], dtype=np.int64)
    starts = np.array([first], dtype=np.int64)
    for step, size in axes:
        starts = np.add.outer(starts, step * np.arange(size, dtype=np.int64)).ravel()
    return _merged(np.sort(starts), length)


def _run_count(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> tuple[list[tuple[int, int]], int]:
    """The axes that move, smallest step first, and how many runs they leave at most."""
    axes = sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1 and s != 0)
    length, count = itemsize, 1
    for step, size in axes:
        if count == 1 and step <= length:
            length += (size - 1) * step
        else:
            count *= size
    return axes, count


def _merged(starts: Runs, length: int) -> Runs:
    """Runs of equal ``length`` at sorted ``starts``, joined where they touch or overlap."""
    breaks = np.flatnonzero(starts[1:] > starts[:-1] + length) + 1
    firsts = starts[np.concatenate(([0], breaks))]
    lasts = starts[np.concatenate((breaks - 1, [len(starts) - 1]))]
    return np.stack((firsts, lasts + length), axis=1)


def common(a: Runs, b: Runs) -> Runs:
    """The bytes in both ``a`` and ``b``.

    >>> common(np.array([[0, 8], [16, 24]]), np.array([[4, 20]])).tolist()
    [[4, 8], [16, 20]]
    """
    edges = np.unique(np.concatenate((a, b), axis=None))
    inside = np.ones(len(edges), dtype=bool)
    for runs in (a, b):
        opened = np.searchsorted(runs[:, 0], edges, side="right")
        closed = np.searchsorted(runs[:, 1], edges, side="right")
        inside &= opened > closed
    keep = np.flatnonzero(inside)  # each kept edge starts a piece that ends at the next edge
    if len(keep) == 0:
        return np.empty((0, 2), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(keep) > 1) + 1
    firsts = keep[np.concatenate(([0], breaks))]
    lasts = keep[np.concatenate((breaks - 1, [len(keep) - 1]))]
    return np.stack((edges[firsts], edges[lasts + 1]), axis=1)


def covered(runs: Runs) -> int:
    """How many bytes ``runs`` hold."""
    return int((runs[:, 1] - runs[:, 0]).sum())


def hull(runs: Runs) -> tuple[int, int]:
    """The first byte and the byte after the last; ``runs`` must not be empty."""
    return int(runs[0, 0]), int(runs[-1, 1])


def extent_of(thing: Any) -> Extent:
    """The extent of an array, tensor or buffer; TypeError for anything without bytes to point at.

    >>> extent_of(np.zeros((2, 3), dtype=np.int32)[:, 0])
    Extent(numpy int32 (2,), 8 bytes)
    """
    if isinstance(thing, torch.Tensor):
        return _of_tensor(thing)
    if isinstance(thing, np.ndarray):
        return _of_array(thing)
    if isinstance(thing, (str, int, float, complex, np.generic)) or thing is None:
        raise TypeError(f"{type(thing).__name__} {thing!r} is a value, not a place in memory")
    try:
        face = np.asarray(memoryview(thing))
    except (TypeError, ValueError) as reason:
        raise TypeError(
            f"no bytes to point at in a {type(thing).__name__}: give a numpy array, a strided "
            f"torch tensor, or an object with the buffer protocol ({reason})"
        ) from None
    return Extent(
        kind=type(thing).__name__,
        dtype=str(face.dtype),
        shape=face.shape,
        strides=face.strides,
        itemsize=face.itemsize,
        address=face.ctypes.data,
        block=_block(thing, face),
        space="host",
        claim=2 if isinstance(thing, memoryview) else 0,
        writable=bool(face.flags.writeable),
        pinned=False,
    )


def _of_array(array: npt.NDArray[Any]) -> Extent:
    return Extent(
        kind="numpy",
        dtype=str(array.dtype),
        shape=array.shape,
        strides=array.strides,
        itemsize=array.itemsize,
        address=array.ctypes.data,
        block=_block(array, array),
        space="host",
        claim=0 if array.base is None else 2,
        writable=bool(array.flags.writeable),
        pinned=False,
    )


def _of_tensor(tensor: torch.Tensor) -> Extent:
    space = "host" if tensor.device.type == "cpu" else str(tensor.device)
    try:
        storage = tensor.untyped_storage()
        begin, size = storage.data_ptr(), storage.nbytes()
        strides = tuple(step * tensor.element_size() for step in tensor.stride())
    except (NotImplementedError, RuntimeError) as reason:
        raise TypeError(
            f"a {tensor.layout} tensor on {tensor.device} has no single strided storage"
        ) from reason
    if size and not begin:
        raise TypeError(f"a tensor on {tensor.device} has no memory here to point at")
    return Extent(
        kind="torch",
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=strides,
        itemsize=tensor.element_size(),
        address=begin + int(tensor.storage_offset()) * tensor.element_size(),
        block=(begin, begin + size),
        space=space,
        claim=2 if tensor._is_view() else 0 if storage.resizable() else 1,
        writable=True,
        pinned=space == "host" and is_pinned(tensor),
    )


def is_pinned(tensor: torch.Tensor) -> bool:
    """``tensor.is_pinned()``, and False where torch cannot say (no accelerator at all)."""
    try:
        return bool(tensor.is_pinned())
    except RuntimeError:
        return False


def _block(thing: Any, face: npt.NDArray[Any]) -> tuple[int, int]:
    """The allocation under ``thing``: follow who borrowed from whom to the end of the chain."""
    low, high = _bounds(face)
    holder = thing
    while True:
        if isinstance(holder, torch.Tensor):
            begin, end = _of_tensor(holder).block
            return min(low, begin), max(high, end)
        borrowed_from = holder.obj if isinstance(holder, memoryview) else _base(holder)
        if borrowed_from is None:
            break
        holder = borrowed_from
    try:
        root = holder if isinstance(holder, np.ndarray) else np.asarray(memoryview(holder))
    except (TypeError, ValueError):
        return low, high  # something else owns it (a capsule, say) and does not tell its size
    begin, end = _bounds(root)
    return min(low, begin), max(high, end)


def _bounds(array: npt.NDArray[Any]) -> tuple[int, int]:
    if array.size == 0:  # byte_bounds would step backwards over an axis of size zero
        return array.ctypes.data, array.ctypes.data
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def _base(holder: Any) -> Any:
    return getattr(holder, "base", None)
