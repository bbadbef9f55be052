"""Which names look at the same memory: groups of names, byte ranges, owners, pending readers.

``alias_map`` takes live objects and returns a record of the moment. It holds no reference to
them. Ranges are half open and relative to their storage, so they are the same in every run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from pinlab.detect.extents import ALLOCATED, BORROWS, Extent, elements, extent_of
from pinlab.detect.runs import Runs, common, covered, hull
from pinlab.detect.storage import AliasMap, PendingUse, Storage, View, pairs_of

BUFFERS = (np.ndarray, torch.Tensor, memoryview, bytearray)
"""What a namespace is searched for. Anything with the buffer protocol can be given by name."""

VALUE_LIMIT = 16
"""Values are noted of views with at most this many elements."""


def alias_map(*objects: Any, **named: Any) -> AliasMap:
    """Map the memory of live objects.

    ``named`` objects must have memory (numpy array, strided torch tensor, or anything with the
    buffer protocol), else TypeError. A positional object may be such an array too (it is called
    ``object 0``, ...), or a namespace: a dict, or an object whose attributes are looked through
    for arrays, tensors, memoryviews and bytearrays; the rest of a namespace is passed over, and so
    are names that begin with two underscores.

    >>> rows = np.array([3, 5, 2, 0], dtype=np.int32)
    >>> print(alias_map(rows=rows, lens=torch.from_numpy(rows[:2]), own=rows[:2].copy()))
    storage 1: 16 bytes, owner rows, pageable
      rows: numpy int32 (4,), bytes [0:16], values 3 5 2 0
      lens: torch int32 (2,), bytes [0:8], values 3 5
    storage 2: 8 bytes, owner own, pageable
      own: numpy int32 (2,), bytes [0:8], values 3 5
    """
    things = dict(_listed(objects))
    things.update(named)
    extents = {name: extent_of(thing) for name, thing in things.items()}
    first_name: dict[int, str] = {}
    same_as = {name: first_name.setdefault(id(thing), name) for name, thing in things.items()}
    storages = [
        _storage(number, names, extents, same_as)
        for number, names in enumerate(_grouped(extents), start=1)
    ]
    return AliasMap(tuple(storages))


def _listed(objects: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for position, thing in enumerate(objects):
        if not isinstance(thing, Mapping) and (
            isinstance(thing, BUFFERS) or not hasattr(thing, "__dict__")
        ):
            yield f"object {position}", thing
            continue
        members = thing if isinstance(thing, Mapping) else vars(thing)
        for name, member in members.items():
            if isinstance(member, BUFFERS) and not str(name).startswith("__") and _placed(member):
                yield str(name), member


def _placed(thing: Any) -> bool:
    try:
        extent_of(thing)
    except TypeError:
        return False
    return True


def _grouped(extents: dict[str, Extent]) -> list[list[str]]:
    """Names whose blocks overlap, directly or through a third; in order of first appearance."""
    groups: list[list[str]] = []
    reach: list[tuple[str, int, int]] = []  # what each group spans so far
    order = list(extents)
    for name in sorted(order, key=lambda n: (extents[n].space, extents[n].block)):
        extent = extents[name]
        begin, end = extent.block
        if reach and _meets(extent, reach[-1]):
            groups[-1].append(name)
            reach[-1] = (extent.space, reach[-1][1], max(end, reach[-1][2]))
        else:
            groups.append([name])
            reach.append((extent.space, begin, end))
    ordered = [sorted(group, key=order.index) for group in groups]
    return sorted(ordered, key=lambda group: order.index(group[0]))


def _meets(extent: Extent, reach: tuple[str, int, int]) -> bool:
    """True if ``extent`` (sorted after it) lies in what the group ``reach`` spans."""
    space, begin, end = reach
    empty_twin = extent.block == (begin, end) and begin == end != 0  # two views of nothing
    return extent.space == space and (extent.block[0] < end or empty_twin)


def _storage(
    number: int, names: list[str], extents: dict[str, Extent], same_as: dict[str, str]
) -> Storage:
    begin = min(extents[name].block[0] for name in names)
    end = max(_end(extents[name]) for name in names)
    space = extents[names[0]].space
    pending = tuple(_pending(space, begin, end, {name: extents[name].runs for name in names}))
    unsettled = {name for use in pending if use.verb == "writes" for name in use.names}
    views = tuple(
        View(
            name=name,
            kind=extents[name].kind,
            dtype=extents[name].dtype,
            shape=extents[name].shape,
            strides=extents[name].strides,
            start=extents[name].address - begin,
            itemsize=extents[name].itemsize,
            runs=pairs_of(extents[name].runs - begin),
            values=() if name in unsettled else _values(extents[name]),
            writable=extents[name].writable,
            exact=extents[name].exact,
            same_as=None if same_as[name] == name else same_as[name],
        )
        for name in names
    )
    return Storage(
        number=number,
        owner=_owner(names, extents, begin, end),
        nbytes=end - begin,
        space=space,
        pinned=any(extents[name].pinned for name in names),
        views=views,
        pending=pending,
    )


def _values(extent: Extent) -> tuple[str, ...]:
    """The elements as short text, if they are few numbers."""
    if math.prod(extent.shape) > VALUE_LIMIT:
        return ()
    found = elements(extent)
    return tuple(f"{value:.4g}" if value.dtype.kind == "f" else str(value) for value in found)


def _end(extent: Extent) -> int:
    """Where the block ends, or, behind a rounding, the last byte that somebody can reach."""
    if not extent.rounded:
        return extent.block[1]
    runs = extent.runs
    return hull(runs)[1] if len(runs) else extent.block[0]


def _owner(names: list[str], extents: dict[str, Extent], begin: int, end: int) -> str | None:
    """The name that holds the whole block and allocated it, as far as Python can tell."""
    whole = []
    for name in names:
        runs = extents[name].runs
        if end == begin:
            fits = True
        elif len(runs) == 0 or extents[name].claim == BORROWS:
            fits = False
        elif extents[name].claim == ALLOCATED:
            fits = hull(runs) == (begin, end)
        else:  # somebody else may have allocated it: only a name that reaches every byte will do
            fits = covered(runs) == end - begin
        if fits:
            whole.append(name)
    return min(whole, key=lambda name: extents[name].claim, default=None)


def _pending(space: str, begin: int, end: int, runs: dict[str, Runs]) -> Iterator[PendingUse]:
    """Queued operations of the simulated device that touch ``[begin, end)`` of the host."""
    sim = sys.modules.get("pinlab.sim")  # asked only if it is there: looking must not install it
    if sim is None or space != "host" or not hasattr(sim, "pending"):
        return
    block = np.array([[begin, end]], dtype=np.int64)
    for operation in sim.pending():
        for verb in ("reads", "writes"):
            for tensor in getattr(operation, f"host_{verb}"):
                touched = common(extent_of(tensor).runs, block)
                if len(touched):
                    yield PendingUse(
                        operation=str(operation.name),
                        verb=verb,
                        runs=pairs_of(touched - begin),
                        names=tuple(n for n, own in runs.items() if len(common(own, touched))),
                        queued_at=str(operation.queued_at),
                    )


def assert_no_alias(a: Any, b: Any, names: tuple[str, str] = ("a", "b")) -> None:
    """AssertionError if ``a`` and ``b`` have a byte in common; it names the bytes.

    >>> rows = np.zeros(4, dtype=np.int32)
    >>> assert_no_alias(rows, rows[:2].copy())
    >>> assert_no_alias(rows, torch.from_numpy(rows[:2]), names=("rows", "lens"))
    Traceback (most recent call last):
    AssertionError: rows and lens share memory: 8 bytes shared: [0:8] of 16
      rows: numpy int32 (4,), bytes [0:16], values 0 0 0 0
      lens: torch int32 (2,), bytes [0:8], values 0 0
    """
    seen = alias_map(**dict(zip(names, (a, b), strict=True)))
    if not seen.shares(*names):
        return
    storage, _ = seen.find(names[0])
    raise AssertionError(
        f"{names[0]} and {names[1]} share memory: {seen.relation(*names)} of {storage.nbytes}\n"
        + "\n".join(f"  {view}" for view in storage.views)
    )
