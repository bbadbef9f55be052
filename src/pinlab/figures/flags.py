"""Words on poles: labels of neighbouring moments, stacked so that none lies on another."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from pinlab.figures.style import SMALLEST

FLAG = 0.19  # inches from one row of flags to the next
_measure = TextToPath()


@dataclass(frozen=True)
class Flag:
    """A label that begins at ``x`` (inches)."""

    x: float
    text: str
    colour: str
    bold: bool = False

    @property
    def end(self) -> float:
        return self.x + 0.06 + plain_inches(self.text, self.bold)


def plain_inches(text: str, bold: bool = False) -> float:
    """Width of a label in the house's proportional font, in inches.

    >>> plain_inches("wide") > plain_inches("ill")
    True
    """
    font = FontProperties(family="DejaVu Sans", size=SMALLEST, weight="bold" if bold else "normal")
    width, _, _ = _measure.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def heights(flags: list[Flag]) -> list[int]:
    """The row of each flag, 0 the lowest; flags are given from left to right.

    A pole passes no text: a flag whose text reaches over a pole to its right hangs above that one.

    >>> heights([Flag(0.0, "a long label", "k"), Flag(0.3, "b", "k"), Flag(3.0, "c", "k")])
    [1, 0, 0]
    """
    rows: list[int] = []
    for index, flag in reversed(list(enumerate(flags))):
        crossed = [
            row
            for other, row in zip(flags[index + 1 :], rows, strict=True)
            if other.x < flag.end + 0.05
        ]
        rows.insert(0, max(crossed, default=-1) + 1)
    return rows
