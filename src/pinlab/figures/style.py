"""The house style: palette, second cues, sizes, and the figure class that carries its words.

A figure function looks like this, in a file of its own:

    @house_style
    def memory_map(seen: AliasMap) -> Drawing:
        drawing = Drawing(width=7.2, height=3.0)
        ...
        return drawing.described(twin=memory_map_twin(seen), alt=memory_map_alt(seen))

Colours are Okabe and Ito's set for all kinds of colour vision (jfly.uni-koeln.de/color). Colour
never stands alone: ``cue(i)`` pairs each with a hatch, a marker and a line style. The background is
solid and light, so that a figure is readable on a light page and as a card on a dark one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Self, TypeVar

import matplotlib
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

PALETTE = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "vermillion": "#D55E00",
    "yellow": "#F0E442",
    "black": "#000000",
}
INK, QUIET, GRID, PAPER = "#1A1A1A", "#555555", "#C9C9C4", "#FAFAF7"
LINE_CONTRAST, TEXT_CONTRAST = 3.0, 4.5  # against what is behind: WCAG 2.1, 1.4.11 and 1.4.3

FONT_SIZE = 9.5  # points
SMALLEST = 9.0  # points; no text in any figure is smaller
DPI = 100
MONOSPACE_WIDTH = 0.64  # of the font size, DejaVu Sans Mono, rounded up to pixels at 100 dpi

HOUSE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine has it
    "font.size": FONT_SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.titlesize": 10.5,
    "axes.labelsize": FONT_SIZE,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "grid.color": GRID,
    "hatch.linewidth": 0.7,
    "legend.fontsize": SMALLEST,
    "legend.frameon": False,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}

P = ParamSpec("P")
R = TypeVar("R")


def mixed(colour: str, other: str, share: float) -> str:
    """``share`` of ``colour`` in ``other``, as hex.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pair = zip(to_rgb(colour), to_rgb(other), strict=True)
    red, green, blue = (share * a + (1 - share) * b for a, b in pair)
    return to_hex((red, green, blue))


def contrast(one: str, other: str) -> float:
    """How far two colours stand apart, 1 to 21, as WCAG 2.1 defines it.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def darkened(colour: str, least: float) -> str:
    """The colour with as much ink in it as it needs to stand out from the paper.

    >>> darkened("#000000", 3.0)
    '#000000'
    """
    shares = (mixed(colour, INK, percent / 100) for percent in range(100, -1, -5))
    return next(shade for shade in shares if contrast(shade, PAPER) >= least)


HAZARD = darkened(PALETTE["vermillion"], TEXT_CONTRAST)  # what goes wrong, or is still to come


@dataclass(frozen=True)
class Cue:
    """One colour and the marks that say the same without colour."""

    colour: str
    hatch: str
    marker: str
    line: str

    @property
    def ink(self) -> str:
        """The colour, dark enough for lines, edges and markers on paper."""
        return darkened(self.colour, LINE_CONTRAST)

    @property
    def tint(self) -> str:
        """The colour, light enough to write on."""
        return mixed(self.colour, PAPER, 0.30)


CUES = (
    Cue(PALETTE["blue"], "", "o", "-"),
    Cue(PALETTE["orange"], "///", "s", "--"),
    Cue(PALETTE["green"], "\\\\\\", "^", "-."),
    Cue(PALETTE["purple"], "xxx", "D", ":"),
    Cue(PALETTE["sky"], "...", "v", (0, (5, 1))),  # type: ignore[arg-type]
    Cue(PALETTE["yellow"], "---", "P", (0, (3, 1, 1, 1))),  # type: ignore[arg-type]
    Cue(PALETTE["black"], "+++", "X", (0, (1, 2))),  # type: ignore[arg-type]
)


def cue(index: int) -> Cue:
    """The cue of the ``index``-th thing in a figure; the first is plain, the rest are hatched.

    >>> cue(1).hatch
    '///'
    """
    return CUES[index % len(CUES)]


class Drawing(Figure):
    """A matplotlib figure that brings its alt text and its text twin with it.

    Made without pyplot: nothing is registered, so a notebook never shows it twice.

    Attributes:
        alt: one sentence for those who do not see the picture, 20 characters or more.
        twin: plain lines with the same facts as the picture.
    """

    alt: str = ""
    twin: tuple[str, ...] = ()

    def __init__(self, width: float, height: float) -> None:
        """An empty figure; sizes in inches, at most 7.5 wide so that a page shows it whole."""
        super().__init__(figsize=(width, height), dpi=DPI)

    def described(self, twin: Sequence[str], alt: str) -> Self:
        """Attach the words; ValueError if there are none."""
        if len(alt) < 20 or "\n" in alt:
            raise ValueError(f"alt text is one line of 20 characters or more, got {alt!r}")
        if not twin or not all(line.strip() for line in twin):
            raise ValueError("a text twin has at least one line, and no line of it is empty")
        self.alt, self.twin = alt, tuple(twin)
        return self

    def __repr__(self) -> str:
        return f"<Figure: {self.alt or 'not described yet'}>"

    __str__ = __repr__


def house_style(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a figure function under the house style, whatever the reader's own settings are."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with house():
            return draw(*args, **kwargs)

    return styled


@contextlib.contextmanager
def house() -> Iterator[None]:
    """Matplotlib's own defaults with ``HOUSE`` on top; the drawing backend stays as it is."""
    defaults: dict[str, Any] = {
        str(key): value for key, value in matplotlib.rcParamsDefault.items() if "backend" not in key
    }
    settings: Any = {**defaults, **HOUSE}  # matplotlib types the keys one by one
    with matplotlib.rc_context(settings):
        yield


def monospace_inches(text: str, size: float = FONT_SIZE) -> float:
    """Width of ``text`` in DejaVu Sans Mono, in inches.

    >>> round(monospace_inches("0123456789", size=9), 2)
    0.8
    """
    return len(text) * MONOSPACE_WIDTH * size / 72
