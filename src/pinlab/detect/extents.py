"""The bytes that one object reaches: where they start, how they lie, who holds them.

An ``Extent`` says it of one array, tensor or buffer; grouping and naming are in ``aliases.py``.
Addresses stay in here: they differ from run to run, so nothing prints them.

What it does not see: one file mapped twice, or one page mapped at two addresses. Two objects
share memory here when they share addresses.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pinlab.detect.runs import Runs, byte_runs, covered, is_exact

# In torch every tensor of a storage holds it, a view too; a view in numpy borrows.
ALLOCATED, HOLDS, HOLDS_AS_VIEW, BORROWS = range(4)


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
    rounded: bool  # the block ends where an allocator's rounding does, behind what was asked for
    space: str  # "host", or the device whose memory this is
    claim: int  # how sure it is that the object holds its block, see the constants
    writable: bool
    pinned: bool

    @property
    def runs(self) -> Runs:
        """The bytes reached, as runs; the outer bounds alone if there are too many runs."""
        return byte_runs(self.address, self.shape, self.strides, self.itemsize)

    @property
    def exact(self) -> bool:
        """False if ``runs`` are outer bounds only."""
        return is_exact(self.shape, self.strides, self.itemsize)

    def __repr__(self) -> str:
        return f"Extent({self.kind} {self.dtype} {self.shape}, {covered(self.runs)} bytes)"


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
        rounded=False,
        space="host",
        claim=BORROWS if isinstance(thing, memoryview) else ALLOCATED,
        writable=bool(face.flags.writeable),
        pinned=_is_pinned_at(face.ctypes.data, face.nbytes),
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
        rounded=False,
        space="host",
        claim=ALLOCATED if array.base is None else BORROWS,
        writable=bool(array.flags.writeable),
        pinned=_is_pinned_at(array.ctypes.data, array.nbytes),
    )


def _of_tensor(tensor: torch.Tensor) -> Extent:
    space = "host" if tensor.device.type == "cpu" else str(tensor.device)
    simulated = hasattr(tensor, "_memory")  # its storage in torch is empty; its block is ours
    try:
        if simulated:
            owner: Any = tensor
            storage = owner._memory.block.memory.untyped_storage()
            address = tensor.data_ptr()
        else:
            storage = tensor.untyped_storage()
            address = storage.data_ptr() + int(tensor.storage_offset()) * tensor.element_size()
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
        address=address,
        block=(begin, begin + size),
        rounded=simulated,
        space=space,
        claim=HOLDS_AS_VIEW if tensor._is_view() else ALLOCATED if storage.resizable() else HOLDS,
        writable=True,
        pinned=space == "host" and is_pinned(tensor),
    )


def elements(extent: Extent) -> list[Any]:
    """The numbers that stand in host memory now, in index order; none if numpy lacks the type.

    Reads the bytes themselves: asking the tensor would be an operation on it, which whoever
    watches operations would see. The object that the extent is of must be alive.
    """
    try:
        dtype = np.dtype(extent.dtype)
    except TypeError:  # bfloat16, records
        return []
    if dtype.kind not in "biuf" or extent.space != "host":
        return []
    offsets = np.array([extent.address])
    for size, step in zip(extent.shape, extent.strides, strict=True):
        offsets = np.add.outer(offsets, step * np.arange(size))
    pieces = (ctypes.string_at(int(start), extent.itemsize) for start in offsets.ravel())
    return [np.frombuffer(piece, dtype)[0] for piece in pieces]


def is_pinned(tensor: torch.Tensor) -> bool:
    """``tensor.is_pinned()``, and False where torch cannot say (no accelerator at all)."""
    try:
        return bool(tensor.is_pinned())
    except RuntimeError:
        return False


def _is_pinned_at(address: int, nbytes: int) -> bool:
    """The same question for memory that torch does not hold: a numpy face of pinned rows."""
    if not nbytes:
        return False
    return is_pinned(
        torch.frombuffer((ctypes.c_uint8 * 1).from_address(address), dtype=torch.uint8)
    )


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
