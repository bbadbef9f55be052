"""One finding: which buffer, who was still to use it, which line got in between."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pinlab.sim import Place


class Kind(StrEnum):
    """What went wrong. The host kinds are about a copy (or kernel) that no wait has covered yet."""

    SOURCE_WRITTEN = "write to an upload's source"
    DESTINATION_WRITTEN = "write to a download's destination"
    DESTINATION_READ = "read of a download's destination"
    FREED = "freed while pending"
    REUSED = "reused while pending"
    UNORDERED = "unordered streams"
    BLOCK_REUSED = "device block reused"
    CAPTURED_WRITTEN = "write to a captured source, within the capture"
    STALE_REPLAY = "replay of memory that was dropped since the capture"


_COPIES = frozenset({"upload", "download", "raw upload", "raw download"})
_IN_PLACE = {
    Kind.SOURCE_WRITTEN: ("an upload's source", "memory that a kernel reads"),
    Kind.DESTINATION_WRITTEN: ("a download's destination", "memory that a kernel fills"),
    Kind.DESTINATION_READ: ("a download's destination", "memory that a kernel fills"),
}


@dataclass(frozen=True)
class Buffer:
    """The memory concerned.

    Attributes:
        name: a variable or attribute that holds it, e.g. ``"self.lens"``; "" if none was found.
        shape, dtype, nbytes: of the bytes that the operation uses.
        pinned: whether it is pinned host memory.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    pinned: bool

    def __str__(self) -> str:
        name = self.name or ("a pinned buffer" if self.pinned else "a buffer")
        return f"{name} ({self.dtype}{list(self.shape)}, {self.nbytes} bytes)"


@dataclass(frozen=True)
class Between:
    """Somewhere after one place and before another; exact lines need ``hazards(lines=True)``."""

    after: Place
    before: Place

    def __str__(self) -> str:
        return f"between {self.after} and {self.before}"


@dataclass(frozen=True)
class Hazard:
    """A host access, or other device work, that no wait orders with a queued operation.

    Attributes:
        kind: see `Kind`.
        buffer: which memory.
        operation: the queued operation's name.
        allocated_at: the line that got the memory; None if it is not pinned or not known.
        queued_at: the line that queued the operation.
        written_at: the line that wrote, read, freed or reused the memory, or queued the other work.
        before, after: bytes where they changed; empty for reads, frees and device work.
        certain: False for a finding from snapshots on a real GPU ("probable").
    """

    kind: Kind
    buffer: Buffer
    operation: str
    allocated_at: Place | None
    queued_at: Place
    written_at: Place | Between
    before: bytes = b""
    after: bytes = b""
    certain: bool = True

    @property
    def what(self) -> str:
        """The kind in words; where a kernel uses host memory in place there is no upload."""
        words = str(self.kind)
        if self.operation in _COPIES or self.kind not in _IN_PLACE:
            return words
        return words.replace(*_IN_PLACE[self.kind])

    def __str__(self) -> str:
        verb = "by" if self.kind in (Kind.UNORDERED, Kind.BLOCK_REUSED) else "at"
        made = f", allocated at {self.allocated_at}" if self.allocated_at else ""
        probable = "" if self.certain else "probable: "
        lines = [
            f"{probable}{self.what}: {self.buffer}{made}",
            f"  {self.operation} queued at {_told(self.queued_at)}",
            f"  {verb} {_told(self.written_at)}",
        ]
        if self.before or self.after:
            lines.append(f"  bytes {_hex(self.before)} became {_hex(self.after)}")
        return "\n".join(lines)


def _told(place: Place | Between) -> str:
    source = place.source if isinstance(place, Place) else ""
    return f"{place}  {source}".rstrip()


def _hex(data: bytes) -> str:
    shown = data[:16].hex(" ")
    return shown + (" …" if len(data) > 16 else "")


class Findings(list[Hazard]):
    """The hazards of a block, in the order in which they were noticed."""

    def __str__(self) -> str:
        if not self:
            return "no hazards"
        return "\n".join(str(hazard) for hazard in self)
