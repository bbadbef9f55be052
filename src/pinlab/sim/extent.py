"""Which bytes of host memory a tensor or array covers: address ranges, lowest first."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import torch

Run = tuple[int, int]  # from the first address to the one behind the last
Runs = tuple[Run, ...]

CHUNK = 256  # bytes compared at once before looking closer


def runs_of(value: Any) -> Runs:
    """The address ranges of a CPU tensor or a numpy array.

    Raises:
        TypeError: for anything else, and for a tensor on a device.

    >>> grid = torch.zeros(2, 4, dtype=torch.int32)
    >>> [stop - start for start, stop in runs_of(grid[:, :2])]
    [8, 8]
    """
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise TypeError(f"only host memory has addresses, not a tensor on {value.device}")
        item = value.element_size()
        strides = tuple(step * item for step in value.stride())
        return _spread(value.data_ptr(), tuple(value.shape), strides, item)
    if not hasattr(value, "__array_interface__"):
        raise TypeError(f"takes a CPU tensor or a numpy array, not {type(value).__name__}")
    return _spread(value.__array_interface__["data"][0], value.shape, value.strides, value.itemsize)


def _spread(address: int, shape: Iterable[int], strides: Iterable[int], item: int) -> Runs:
    """Start from one element and repeat it along every axis, the finest first."""
    axes = sorted((abs(step), step, n) for n, step in zip(shape, strides, strict=True))
    if any(n == 0 for *_, n in axes):
        return ()
    address += sum(step * (n - 1) for _, step, n in axes if step < 0)
    starts, length = [address], item
    for size, _, n in axes:
        if size == length and len(starts) == 1:
            length *= n
        elif size:  # an axis of stride 0 repeats the same bytes
            starts = [start + size * k for start in starts for k in range(n)]
    return merged((start, start + length) for start in starts)


def merged(ranges: Iterable[Run]) -> Runs:
    """The same bytes in as few ranges as possible.

    >>> merged([(4, 8), (0, 4), (10, 12)])
    ((0, 8), (10, 12))
    """
    found: list[Run] = []
    for start, stop in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return tuple(found)


def overlap(left: Runs, right: Runs) -> Runs:
    """The bytes that both have.

    >>> overlap(((0, 8),), ((4, 6), (7, 20)))
    ((4, 6), (7, 8))
    """
    pairs = ((max(a, c), min(b, d)) for a, b in left for c, d in right)
    return merged((start, stop) for start, stop in pairs if start < stop)


def without(left: Runs, right: Runs) -> Runs:
    """The bytes of `left` that `right` has not.

    >>> without(((0, 8),), ((2, 4),))
    ((0, 2), (4, 8))
    """
    kept = list(left)
    for low, high in right:
        pieces = [((a, min(b, low)), (max(a, high), b)) for a, b in kept]
        kept = [(a, b) for pair in pieces for a, b in pair if a < b]
    return tuple(kept)


def read(runs: Runs) -> list[bytes]:
    """The bytes that stand there now, a piece for each range."""
    return [ctypes.string_at(start, stop - start) for start, stop in runs]


def changed(runs: Runs, before: list[bytes], now: list[bytes]) -> Runs:
    """Where two readings of `runs` differ.

    >>> changed(((100, 104),), [b"abcd"], [b"aXYd"])
    ((101, 103),)
    """
    found: list[Run] = []
    for (start, _), old, new in zip(runs, before, now, strict=True):
        if old != new:
            found += [(start + a, start + b) for a, b in _differing(old, new)]
    return merged(found)


def _differing(old: bytes, new: bytes) -> list[Run]:
    found: list[Run] = []
    for at in range(0, len(new), CHUNK):
        if old[at : at + CHUNK] == new[at : at + CHUNK]:
            continue
        end = min(at + CHUNK, len(new))
        found += [(i, i + 1) for i in range(at, end) if old[i] != new[i]]
    return found
