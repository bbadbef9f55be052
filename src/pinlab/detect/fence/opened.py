"""Pages that a known line was let through to, and what became of the operation's bytes on them."""

from __future__ import annotations

from pinlab.detect.fence.part import Part
from pinlab.sim import Place
from pinlab.sim.extent import Runs, overlap


class Opened:
    """The bytes of one part on some pages, as they were before the line.

    Args:
        part: whose bytes. pages: which were opened. place: the line that was let through.
    """

    def __init__(self, part: Part, pages: Runs, place: Place) -> None:
        self.part, self.pages, self.place = part, pages, place
        self.runs = overlap(part.runs, pages)
        self.before = part.bytes(self.runs)

    def change(self) -> tuple[bytes, bytes] | None:
        """Bytes before and now, from the first to the last item that differs; None if none does."""
        now = self.part.bytes(self.runs)
        if now == self.before:
            return None
        cut = changed_items(self.before, now, self.part.tensor.element_size())
        return self.before[cut], now[cut]


def changed_items(before: bytes, after: bytes, item: int) -> slice:
    """From the first to the last item that differs.

    >>> changed_items(b"aabbccdd", b"aabXcYdd", 2)
    slice(2, 6, None)
    """
    differs = [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    return slice(differs[0] // item * item, (differs[-1] // item + 1) * item)
