"""What is known of memory: views, the storages they look at, and the map of all of them.

Records only, made by ``aliases.py``. Every range is half open and relative to the storage.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from pinlab.detect.runs import Runs, common, covered

INTERLEAVED = "interleaved, no byte shared"


@dataclass(frozen=True)
class View:
    """One name and the bytes it reaches in its storage."""

    name: str
    kind: str  # "numpy", "torch", "memoryview", ...
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    start: int  # offset in the storage of the element with all indices zero
    itemsize: int
    runs: tuple[tuple[int, int], ...]  # half open, relative to the storage
    values: tuple[str, ...]  # in index order; empty if there are many, or they cannot be read now
    writable: bool
    exact: bool  # False: too many runs, outer bounds only
    same_as: str | None  # an earlier name bound to the very same object

    @property
    def nbytes(self) -> int:
        """Bytes reached, each counted once (so an expanded view has few)."""
        return sum(stop - start for start, stop in self.runs)

    @property
    def layout(self) -> str:
        """Library, element type and shape, e.g. ``torch int32 (3,)``."""
        return f"{self.kind} {self.dtype} {self.shape}"

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each element starts, in index order; as long as the product of the shape."""
        found = np.array([self.start])
        for size, step in zip(self.shape, self.strides, strict=True):
            found = np.add.outer(found, step * np.arange(size))
        return tuple(found.ravel().tolist())

    @property
    def where(self) -> str:
        """The byte ranges in words, short."""
        if not self.runs:
            return "no bytes"
        if len(self.runs) <= 3:
            text = "bytes " + " ".join(f"[{start}:{stop}]" for start, stop in self.runs)
        else:
            first = self.runs[0]
            text = f"{len(self.runs)} pieces from [{first[0]}:{first[1]}] to "
            text += f"[{self.runs[-1][0]}:{self.runs[-1][1]}], {self.nbytes} bytes"
        return text if self.exact else text + " (outer bounds)"

    def __str__(self) -> str:
        if self.same_as:
            return f"{self.name}: the same object as {self.same_as}"
        read_only = "" if self.writable else ", read-only"
        values = f", values {' '.join(self.values)}" if self.values else ""
        return f"{self.name}: {self.layout}, {self.where}{read_only}{values}"


@dataclass(frozen=True)
class PendingUse:
    """A queued operation that has yet to read or write bytes of a storage."""

    operation: str
    verb: str  # "reads" or "writes"
    runs: tuple[tuple[int, int], ...]
    names: tuple[str, ...]  # the views whose bytes it touches
    queued_at: str  # "file:line"

    def __str__(self) -> str:
        ranges = " ".join(f"[{start}:{stop}]" for start, stop in self.runs)
        return f"pending: {self.operation} {self.verb} bytes {ranges}, queued at {self.queued_at}"


@dataclass(frozen=True)
class Storage:
    """One piece of memory and every given name that looks at it."""

    number: int  # 1, 2, ... in the order in which the names came
    owner: str | None  # the name that holds all of it, or None if no given name does
    nbytes: int
    space: str  # "host" or a device
    pinned: bool
    views: tuple[View, ...]
    pending: tuple[PendingUse, ...]

    @property
    def title(self) -> str:
        """Number, size, owner and kind of memory, in one line."""
        owner = f"owner {self.owner}" if self.owner else "owner not among these names"
        state = self.space if self.space != "host" else "pinned" if self.pinned else "pageable"
        return (
            f"storage {self.number}: {self.nbytes} byte{'s' * (self.nbytes != 1)}, {owner}, {state}"
        )

    def __str__(self) -> str:
        lines = [*self.views, *self.remarks, *self.pending]
        return "\n".join([self.title, *(f"  {line}" for line in lines)])

    @property
    def interleaved(self) -> tuple[str, ...]:
        """Pairs of views that look overlapping by their outer bounds and are not, in words."""
        return tuple(
            f"{one.name} and {other.name}: {INTERLEAVED}"
            for one, other in itertools.combinations(self.views, 2)
            if relation(one, other) == INTERLEAVED
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """``interleaved``, the first three."""
        pairs = self.interleaved
        return pairs if len(pairs) <= 3 else (*pairs[:3], f"and {len(pairs) - 3} more such pairs")


def relation(one: View, other: View) -> str:
    """How two views of *one* storage lie to each other, in words."""
    both = common(rows_of(one.runs), rows_of(other.runs))
    if len(both):
        ranges = " ".join(f"[{start}:{stop}]" for start, stop in both.tolist()[:3])
        more = "" if len(both) <= 3 else f" and {len(both) - 3} more"
        return f"{covered(both)} bytes shared: {ranges}{more}"
    if not one.runs or not other.runs:
        return "no byte shared"
    first, second = sorted((one.runs, other.runs))
    return INTERLEAVED if second[0][0] < first[-1][1] else "no byte shared"


@dataclass(frozen=True)
class AliasMap:
    """Which of the given names share memory. ``print`` it, or ask ``shares``."""

    storages: tuple[Storage, ...]

    def __str__(self) -> str:
        return "\n".join(str(storage) for storage in self.storages) or "no memory among these names"

    __repr__ = __str__

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names, one tuple a storage."""
        return tuple(tuple(view.name for view in s.views) for s in self.storages)

    @property
    def pending(self) -> tuple[PendingUse, ...]:
        return tuple(use for storage in self.storages for use in storage.pending)

    def find(self, name: str) -> tuple[Storage, View]:
        """The storage and the view of a name; KeyError lists the names there are."""
        for storage in self.storages:
            for view in storage.views:
                if view.name == name:
                    return storage, view
        known = ", ".join(name for group in self.groups for name in group)
        raise KeyError(f"no name {name!r} in this map; it has {known or 'none'}")

    def relation(self, one: str, other: str) -> str:
        """Two names in words: which bytes they share, or why they share none."""
        (storage, view), (elsewhere, second) = self.find(one), self.find(other)
        if storage is not elsewhere:
            return "different storages"
        if (view.same_as or view.name) == (second.same_as or second.name):
            return "the same object"
        return relation(view, second)

    def shares(self, one: str, other: str) -> bool:
        """True if some byte is reached by both names."""
        (storage, view), (elsewhere, second) = self.find(one), self.find(other)
        return storage is elsewhere and len(common(rows_of(view.runs), rows_of(second.runs))) > 0


def pairs_of(runs: Runs) -> tuple[tuple[int, int], ...]:
    """Runs as plain Python pairs, for a record."""
    return tuple((int(start), int(stop)) for start, stop in runs)


def rows_of(pairs: tuple[tuple[int, int], ...]) -> Runs:
    """The inverse of ``pairs_of``."""
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
