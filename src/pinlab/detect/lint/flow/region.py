"""Regions: which part of a buffer an index expression names, and whether two parts meet.

Indices that are not constants are compared by their text and by the versions of the names in
it: ``buf[i]`` and a later ``buf[i]`` are the same part only if nothing assigned ``i`` between.
The answer ``UNKNOWN`` is never reported, so a ring of slots stays silent.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Meet(enum.Enum):
    """Do two regions share an element?"""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Key:
    """One index: a constant, or a text with the versions of its names."""

    text: str
    versions: tuple[int, ...] = ()
    value: int | None = None


@dataclass(frozen=True, slots=True)
class One:
    """``[i]``: one index of one dimension."""

    key: Key


@dataclass(frozen=True, slots=True)
class Run:
    """``[lo:hi]``, with ``None`` for an end left out."""

    lo: Key | None
    hi: Key | None


@dataclass(frozen=True, slots=True)
class All:
    """Everything, or some part that the text does not tell (fancy indexing, a reshape)."""


Plain = One | Run | All


@dataclass(frozen=True, slots=True)
class Dims:
    """``[i, a:b]``: one selector a dimension."""

    parts: tuple[Plain, ...]


Selector = One | Run | All | Dims
Region = tuple[Selector, ...]
WHOLE: Region = ()


def is_column(region: Region) -> bool:
    """Whether a view surely skips bytes: one index after a dimension that keeps several.

    >>> n = Key("n", (1,))
    >>> is_column((Dims((Run(None, n), One(n))),)), is_column((Dims((One(n), Run(None, n))),))
    (True, False)
    """
    for selector in region:
        kept = [not isinstance(part, One) for part in _parts(selector)]
        if kept != sorted(kept):  # rows first, then what is left of each
            return True
    return False


def overlap(a: Region, b: Region) -> Meet:
    """Whether two chains of index steps into one buffer share an element.

    >>> n = Key("n", (1,))
    >>> overlap((Run(None, n),), WHOLE)
    <Meet.YES: 'yes'>
    >>> overlap((Run(None, n),), (Run(n, None),))
    <Meet.NO: 'no'>
    """
    for left, right in zip(a, b, strict=False):
        if isinstance(left, All) or isinstance(right, All):
            return Meet.YES
        met = _selectors(left, right)
        if met is not Meet.YES:
            return met
        if left != right:
            return Meet.YES
    return Meet.YES


def _selectors(a: Selector, b: Selector) -> Meet:
    left, right = _parts(a), _parts(b)
    answers = [_plain(x, y) for x, y in zip(left, right, strict=False)]
    if Meet.NO in answers:
        return Meet.NO
    return Meet.UNKNOWN if Meet.UNKNOWN in answers else Meet.YES


def _parts(selector: Selector) -> tuple[Plain, ...]:
    return selector.parts if isinstance(selector, Dims) else (selector,)


def _plain(a: Plain, b: Plain) -> Meet:
    if isinstance(a, All) or isinstance(b, All) or a == b:
        return Meet.YES
    if isinstance(a, One) and isinstance(b, One):
        return _ones(a.key, b.key)
    if isinstance(a, Run) and isinstance(b, Run):
        return _runs(a, b)
    if isinstance(a, Run) and isinstance(b, One):
        return _one_in_run(b.key, a)
    assert isinstance(a, One)
    assert isinstance(b, Run)
    return _one_in_run(a.key, b)


def _ones(a: Key, b: Key) -> Meet:
    if a.value is None or b.value is None or (a.value < 0) != (b.value < 0):
        return Meet.UNKNOWN
    return Meet.YES if a.value == b.value else Meet.NO


def _starts_at_zero(run: Run) -> bool:
    return run.lo is None or run.lo.value == 0


def _one_in_run(key: Key, run: Run) -> Meet:
    if run.lo is None and run.hi is None:
        return Meet.YES
    if key.value is not None and key.value >= 0:
        low = 0 if run.lo is None else run.lo.value
        high = None if run.hi is None else run.hi.value
        if low is not None and low >= 0 and key.value < low:
            return Meet.NO
        if high is not None and high >= 0 and key.value >= high:
            return Meet.NO
    # `buf[i] = x` for rows that `buf[:n]` then uploads: the usual meaning is i < n.
    return Meet.YES if _starts_at_zero(run) else Meet.UNKNOWN


def _runs(a: Run, b: Run) -> Meet:
    if _starts_at_zero(a) and _starts_at_zero(b):
        return Meet.YES
    for first, second in ((a, b), (b, a)):
        if first.hi is not None and second.lo is not None and _not_after(first.hi, second.lo):
            return Meet.NO
    if a.hi is None and b.hi is None:
        return Meet.YES
    values = [end.value for run in (a, b) for end in (run.lo, run.hi) if end is not None]
    return Meet.YES if None not in values else Meet.UNKNOWN


def _not_after(high: Key, low: Key) -> bool:
    if high == low:
        return True
    if high.value is None or low.value is None:
        return False
    return high.value <= low.value and (high.value < 0) == (low.value < 0)
