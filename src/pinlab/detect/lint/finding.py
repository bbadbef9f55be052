"""One finding: what the lint reports, a row of five values."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.IntEnum):
    """How sure and how grave: ``note`` < ``warning`` < ``error``.

    >>> Level.parse("warning") < Level.ERROR
    True
    >>> str(Level.NOTE)
    'note'
    """

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Level:
        """The level called `word`; ``ValueError`` names the three that exist."""
        for level in cls:
            if str(level) == word:
                return level
        raise ValueError(f"level {word!r} does not exist; choose note, warning or error")


@dataclass(frozen=True, order=True)
class Finding:
    """A line of source, the rule that speaks, and what to do about it.

    >>> f = Finding("batch.py", 30, "PIN001", Level.WARNING, "a view leaves the method")
    >>> f
    batch.py:30: PIN001 warning: a view leaves the method
    >>> f.row()["level"]
    'warning'
    """

    path: str
    line: int
    rule: str
    level: Level
    message: str

    def __repr__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule} {self.level}: {self.message}"

    def row(self) -> dict[str, str | int]:
        """The JSON row: exactly ``path``, ``line``, ``rule``, ``level``, ``message``."""
        return {
            "path": self.path,
            "line": self.line,
            "rule": self.rule,
            "level": str(self.level),
            "message": self.message,
        }
