"""Sets of bytes as sorted runs: which bytes a strided layout reaches, what two sets have in common.

Exact, without listing bytes: axes that continue a run are folded into it first.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Runs = npt.NDArray[np.int64]
"""Sorted, disjoint ``[start, stop)`` rows, shape ``(n, 2)``, in bytes."""

RUN_LIMIT = 1 << 20
"""More separate runs than this and only the outer bounds of a layout are kept."""


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
    axes, count = _moving_axes(shape, strides, itemsize)
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


def is_exact(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """False if ``byte_runs`` gives outer bounds only."""
    return _moving_axes(shape, strides, itemsize)[1] <= RUN_LIMIT


def _moving_axes(
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
