"""What one run of the child does differently from the first, and what it has to tell."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field
from typing import Any

from pinlab.sim import Place

Line = tuple[str, int]  # file name and line number


@dataclass
class Plan:
    """What is known from earlier runs.

    Attributes:
        compared: lines to go past, comparing bytes; at any other the child dies.
        opened: those of them that a system call refused to touch (EFAULT): opened beforehand.
        shifts: number of a pinned block -> where in its first page it shall begin.
    """

    compared: set[Line] = field(default_factory=set)
    opened: set[Line] = field(default_factory=set)
    shifts: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Died:
    """The child's last word at a line that no earlier run has met.

    `refused`: it was no fault, but a system call that said EFAULT.
    """

    place: Place
    refused: bool = False


@dataclass(frozen=True)
class Ended:
    """The program came to its end: how, and with which exit status if it was a script."""

    how: str = "finished"
    status: int = 0


class Messages:
    """Objects written to a file by the child, one after the other, read by the parent at its end.

    A file and no pipe: it cannot be full, and a grandchild that keeps it open blocks nobody.
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("pinlab-fence-messages")

    def send(self, message: Any) -> None:
        """Write at once: the process may die at the next instruction."""
        os.write(self.file, pickle.dumps(message))

    def read(self) -> list[Any]:
        """All messages; a last one that is cut off is left out."""
        os.lseek(self.file, 0, os.SEEK_SET)
        found: list[Any] = []
        with os.fdopen(self.file, "rb") as stream:
            while True:
                try:
                    found.append(pickle.load(stream))
                except (EOFError, pickle.UnpicklingError):
                    return found
