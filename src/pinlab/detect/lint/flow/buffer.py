"""A buffer: one piece of memory that the source text allocates."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Pinned(enum.IntEnum):
    """What the text says about page locking.

    ``UNSEEN``: the allocation is not in sight. ``MAYBE``: ``pin_memory=<a variable>``.
    """

    NO = 0
    UNSEEN = 1
    MAYBE = 2
    YES = 3


class Where(enum.Enum):
    """On which side the memory lies, as far as the text tells."""

    HOST = "host"
    DEVICE = "device"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file.

    >>> str(Place("batch.py", 12)), Place("batch.py", 12).seen_from("batch.py")
    ('batch.py:12', 'line 12')
    """

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def seen_from(self, path: str) -> str:
        """``line 12`` inside the same file, ``other.py:12`` elsewhere."""
        return f"line {self.line}" if path == self.path else str(self)


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory, known by its allocation site; two views of it compare by identity.

    `many` marks a site that stands for several blocks (a comprehension); `persistent` is set
    once an attribute or a global is seen to hold it.
    """

    site: str
    place: Place
    face: str = "tensor"
    where: Where = Where.UNKNOWN
    pinned: Pinned = Pinned.NO
    dtype: str | None = None
    ndim: int | None = None
    many: bool = False
    persistent: bool = False
    name: str = ""
    stream: str = ""
    origin: str = ""

    @property
    def maybe_pinned(self) -> bool:
        return self.pinned >= Pinned.MAYBE

    @property
    def title(self) -> str:
        """The name a message uses."""
        return f"`{self.name}`" if self.name else f"the buffer of line {self.place.line}"

    def __repr__(self) -> str:
        return (
            f"<Buffer {self.title} {self.where.value} pinned={self.pinned.name.lower()} "
            f"{self.place}{' persistent' if self.persistent else ''}>"
        )
