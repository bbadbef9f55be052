"""A cell of a table that says what held and what broke: by colour, by hatch, and in words."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import Rectangle

from pinlab.figures.style import LINE_CONTRAST, PALETTE, PAPER, SMALLEST, darkened, mixed

SHARE = 0.84  # of the row's height; the rest is the gap between rows


def verdict_cell(
    axes: Any, left: float, middle: float, size: tuple[float, float], held: bool, words: str
) -> None:
    """Draw one cell, its text at `left`.

    Args:
        axes: in inches, the vertical axis pointing down.
        middle: height of the row's middle. size: the cell's width, the row's height.
        held: green and plain, else vermillion and hatched.
    """
    width, row = size
    colour = PALETTE["green"] if held else PALETTE["vermillion"]
    box = Rectangle(
        (left - 0.06, middle - row * SHARE / 2),
        width,
        row * SHARE,
        facecolor=mixed(colour, PAPER, 0.25),
        edgecolor=darkened(colour, LINE_CONTRAST),
        hatch=None if held else "///",
        hatchcolor=mixed(colour, PAPER, 0.5),
    )
    axes.add_patch(box)
    plate = {"facecolor": PAPER, "edgecolor": "none", "boxstyle": "round,pad=0.12"}
    axes.text(left, middle, words, va="center", size=SMALLEST, bbox=plate)
