"""One line of the table that ``make bench`` prints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["ratio", "exact", "reading"]


@dataclass(frozen=True)
class Row:
    """A measurement, with the limit that it is held against.

    `kind` says what a later run may compare: a ratio of two things measured in one run (it may
    move by 20 %), an exact count (it may not move), or a reading (a time or a size on one machine,
    shown and never compared).

    Raises:
        ValueError: for a value that is infinite or no number.

    >>> Row("h + 1, stream held", 6.6, "times plain", at_most=8)
    Row(h + 1, stream held: 6.6 times plain, at most 8: kept)
    >>> Row("operators right", 0.98, "of all", at_least=0.99).kept
    False
    """

    name: str
    value: float
    unit: str
    kind: Kind = "ratio"
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"{self.name}: {self.value!r} {self.unit} is no measurement")

    @property
    def kept(self) -> bool:
        """Whether the value is within its limits; a row without limits always is."""
        below = self.at_most is None or self.value <= self.at_most
        above = self.at_least is None or self.value >= self.at_least
        return below and above

    @property
    def limit(self) -> str:
        """The limits in words; empty without one."""
        words = []
        if self.at_least is not None:
            words.append(f"at least {self.at_least:,g}")
        if self.at_most is not None:
            words.append(f"at most {self.at_most:,g}")
        return ", ".join(words)

    @property
    def shown(self) -> str:
        """The value and its unit; counts and thousands in full, anything else to three figures."""
        whole = self.kind == "exact" and self.value == int(self.value)
        number = f"{self.value:,.0f}" if whole or abs(self.value) >= 1000 else f"{self.value:.3g}"
        return f"{number} {self.unit}"

    def __str__(self) -> str:
        verdict = f", {self.limit}: {'kept' if self.kept else 'EXCEEDED'}" if self.limit else ""
        return f"{self.name}: {self.shown}{verdict}{f' ({self.note})' if self.note else ''}"

    def __repr__(self) -> str:
        return f"Row({self})"


def report(rows: Iterable[Row]) -> int:
    """Print each row as it comes; the exit status, 1 if a limit is exceeded."""
    failed = 0
    for row in rows:
        print(row, flush=True)
        failed += not row.kept
    return int(failed > 0)
