"""A row against the committed one: what moved, and whether for the worse."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.row import Row

TOLERANCE = 0.20


@dataclass(frozen=True)
class Compared:
    """A row, the committed row of that name, and what is to be said.

    >>> Compared(Row("launch", 7.0, "times plain"), Row("launch", 5.0, "times plain")).verdict
    'WORSE'
    >>> Compared(Row("found", 3, "bugs", "exact"), Row("found", 4, "bugs", "exact")).verdict
    'CHANGED'
    """

    row: Row
    before: Row | None = None

    @property
    def change(self) -> float | None:
        """How far a ratio moved, as a share of the committed one; None if it is not compared."""
        if self.before is None or self.row.kind != "ratio" or self.before.value == 0:
            return None
        return self.row.value / self.before.value - 1

    @property
    def less_is_worse(self) -> bool:
        """Where only a least value is asked for, falling is bad; else rising is."""
        return self.row.at_least is not None and self.row.at_most is None

    @property
    def regressed(self) -> bool:
        """Whether a ratio moved by more than 20 % in the bad direction."""
        if self.change is None:
            return False
        # A change of exactly a fifth is none, and 6 / 5 - 1 is a little more than 0.2.
        worse = -self.change if self.less_is_worse else self.change
        return worse > TOLERANCE + 1e-9

    @property
    def changed(self) -> bool:
        """Whether an exact count is another one."""
        exact = self.row.kind == "exact" and self.before is not None
        return exact and self.row.value != self.before.value  # type: ignore[union-attr]

    @property
    def verdict(self) -> str:
        """One word: OVER (a limit), WORSE (than committed), CHANGED (a count), new, or nothing."""
        if not self.row.kept:
            return "OVER"
        if self.regressed:
            return "WORSE"
        if self.changed:
            return "CHANGED"
        return "new" if self.before is None else ""

    @property
    def moved(self) -> str:
        """The change in words; empty for what is not compared."""
        if self.changed:
            assert self.before is not None
            return f"{self.row.value - self.before.value:+,g}"
        return "" if self.change is None else f"{self.change:+.0%}".replace("%", " %")
