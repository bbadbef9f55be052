"""A copy in flight: queued with ``non_blocking=True`` and not yet covered by a wait."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.detect.lint.flow.atoms import Array
from pinlab.detect.lint.flow.buffer import Buffer, Place
from pinlab.detect.lint.flow.region import Key, Meet, Region, overlap

EACH = "each"
"""The slot text of a loop variable: over the whole loop it is every element."""


@dataclass(frozen=True, slots=True)
class Pending:
    """One copy in flight.

    `up`: the host buffer is read (an upload); else it is written (a download). `streams`: the
    streams whose ``synchronize()`` covers the copy. `sure`: ``non_blocking`` is literally true.
    `raw`: queued by address, so that no allocator hears of it. `waited`: some path between the
    copy and here waits, but not every one. `carried`: how the copy came from an earlier call.
    """

    key: str
    buffer: Buffer
    region: Region
    slot: Key | None
    up: bool
    place: Place
    streams: frozenset[str]
    stamp: int
    sure: bool = True
    raw: bool = False
    waited: bool = False
    carried: str = ""

    def meets(self, array: Array) -> bool:
        """True if `array` surely shares elements with the copy's host side."""
        if array.buffer is not self.buffer or not self._same_element(array.slot):
            return False
        return overlap(self.region, array.region) is Meet.YES

    def _same_element(self, slot: Key | None) -> bool:
        """Elements of lists: the same one, or every one of those that the site made."""
        if slot == self.slot:
            return True
        return self.slot is None and slot is not None and (self.buffer.many or slot.text == EACH)
