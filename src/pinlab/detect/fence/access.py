"""One trapped access: which host line touched which page, and whether it hit the operation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pinlab.detect.hazards.hazard import Buffer, Hazard, Kind
from pinlab.sim import Place

HIT = "the operation's bytes"
MISS = "same page, other bytes"
Edge = tuple[int, int]  # number of a block, offset in it that should lie on a border of two pages


@dataclass(frozen=True)
class Access:
    """A host line that touched a page which a pending operation uses.

    Attributes:
        hit: whether it touched bytes of the operation.
        kind: what a hit is.
        buffer, operation, allocated_at, queued_at: of the pending operation.
        accessed_at: the host line.
        before, after: the operation's bytes in that buffer, where the line changed them.
        edge: where a page should end so that a miss can be told from a hit for sure.
    """

    hit: bool
    kind: Kind
    buffer: Buffer
    operation: str
    allocated_at: Place | None
    queued_at: Place
    accessed_at: Place
    before: bytes = b""
    after: bytes = b""
    edge: Edge | None = None

    @property
    def verdict(self) -> str:
        """In words."""
        return HIT if self.hit else MISS

    @property
    def pair(self) -> tuple[str, int, str, int]:
        """The two lines concerned."""
        one, two = self.accessed_at, self.queued_at
        return (one.filename, one.lineno, two.filename, two.lineno)

    def named(self, name: str) -> Access:
        """The same, with its buffer called `name`."""
        return replace(self, buffer=replace(self.buffer, name=name))

    def hazard(self) -> Hazard:
        """The same as `hazards()` would say it."""
        return Hazard(
            self.kind,
            self.buffer,
            self.operation,
            self.allocated_at,
            self.queued_at,
            self.accessed_at,
            self.before,
            self.after,
        )

    def __str__(self) -> str:
        if self.hit:
            return f"{self.verdict}: {self.hazard()}"
        return (
            f"{self.verdict}: {_told(self.accessed_at)}\n"
            f"  beside {self.buffer}, {self.operation} queued at {_told(self.queued_at)}"
        )


def _told(place: Place) -> str:
    return f"{place}  {place.source}".rstrip()
