"""Guard map: kinds of fault down the side, and along the top where the guard was missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Rectangle

from pinlab.casebook import GUARDS, KINDS, Case, Guard, Kind
from pinlab.figures.style import (
    GRID,
    INK,
    PALETTE,
    PAPER,
    QUIET,
    SMALLEST,
    Drawing,
    house_style,
    mixed,
)

WIDTH, NAMES, GAP, HEAD, SPAN = 7.5, 1.95, 0.12, 0.34, 0.26  # inches
LINE, ROOM = 0.165, 0.1  # height of a line of ids, and what a row has beside its lines
IDS = 2  # in a line of a square
LIMIT = 99  # cases


@house_style
def guard_map(told: Sequence[Case]) -> Drawing:
    """Draw the map: a row for each kind, a column for each place, the cases' ids in the squares.

    Args:
        told: bugs that say where their guard was missing.

    Raises:
        ValueError: for no case, more than 99, or one that says nothing.

    >>> from pinlab.casebook import case
    >>> guard_map([case("Z07"), case("Z11"), case("Z12")]).alt
    'Where the guard was missing in 3 cases of 2 kinds: 1 beside it, 1 other step, 1 misplaced.'
    """
    kinds = _kinds(told)
    heights = [_height(told, kind) for kind in kinds]
    height = GAP + SPAN + HEAD + sum(heights) + HEAD + GAP
    drawing = Drawing(width=WIDTH, height=height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    look: dict[str, Any] = {"va": "center", "ha": "center", "size": SMALLEST}
    for column, guard in enumerate(GUARDS.values()):
        axes.text(_middle(column), GAP + SPAN + HEAD / 2, guard.name, weight="bold", **look)
        count = len(_at(told, guard))
        axes.text(_middle(column), height - GAP - HEAD / 2, str(count), weight="bold", **look)
    axes.text(GAP, height - GAP - HEAD / 2, "cases", va="center", weight="bold", size=SMALLEST)
    _span(axes, told)
    top = GAP + SPAN + HEAD
    for kind, high in zip(kinds, heights, strict=True):
        axes.text(GAP, top + high / 2, str(kind), va="center", size=SMALLEST)
        axes.plot([GAP, WIDTH - GAP], [top, top], color=GRID, linewidth=0.7)
        for column, guard in enumerate(GUARDS.values()):
            here = _at(told, guard, kind)
            if here:
                _square(axes, column, top, high, guard)
                axes.text(_middle(column), top + high / 2, "\n".join(_lines(here)), **look)
        top += high
    axes.plot([GAP, WIDTH - GAP], [top, top], color=QUIET, linewidth=0.9)
    return drawing.described(twin=guard_map_twin(told), alt=guard_map_alt(told))


def guard_map_twin(told: Sequence[Case]) -> list[str]:
    """A line for each kind with its cases by place, then the counts."""
    lines = [f"guard map: {_plural(len(told), 'case')}, {_plural(len(_kinds(told)), 'kind')}"]
    wide = max(len(str(kind)) for kind in KINDS.values())
    for kind in _kinds(told):
        parts = [
            f"{guard}: {' '.join(_at(told, guard, kind))}"
            for guard in GUARDS.values()
            if _at(told, guard, kind)
        ]
        lines.append(f"  {kind!s:{wide}}  {'; '.join(parts)}")
    counts = [f"{guard} {len(_at(told, guard))}" for guard in GUARDS.values()]
    lines.append(f"  {'cases':{wide}}  {', '.join(counts)}")
    lines.append(f"  {'far from the buffer':{wide}}  {_far(told)} of {len(told)}")
    return lines


def guard_map_alt(told: Sequence[Case]) -> str:
    """One line: how many cases at each place."""
    counts = [(len(_at(told, guard)), guard.name) for guard in GUARDS.values()]
    places = ", ".join(f"{count} {name}" for count, name in counts if count)
    cases, kinds = _plural(len(told), "case"), _plural(len(_kinds(told)), "kind")
    return f"Where the guard was missing in {cases} of {kinds}: {places}."


def _kinds(told: Sequence[Case]) -> list[Kind]:
    """The kinds that occur, in the book's order."""
    if not 1 <= len(told) <= LIMIT:
        raise ValueError(f"a guard map shows 1 to {LIMIT} cases, got {len(told)}")
    silent = [case.id for case in told if case.guard is None]
    if silent:
        raise ValueError(f"{', '.join(silent)} does not say where its guard was missing")
    return [kind for kind in KINDS.values() if any(case.kind == kind for case in told)]


def _at(told: Sequence[Case], guard: Guard, kind: Kind | None = None) -> list[str]:
    """Ids of the cases at a place, of one kind or of all."""
    return [case.id for case in told if case.guard == guard and kind in (None, case.kind)]


def _lines(ids: list[str]) -> list[str]:
    return [" ".join(ids[start : start + IDS]) for start in range(0, len(ids), IDS)]


def _height(told: Sequence[Case], kind: Kind) -> float:
    return ROOM + LINE * max(len(_lines(_at(told, guard, kind))) for guard in GUARDS.values())


def _middle(column: int) -> float:
    return NAMES + (column + 0.5) * (WIDTH - NAMES - GAP) / len(GUARDS)


def _span(axes: Any, told: Sequence[Case]) -> None:
    """One line over all places that are far from the buffer, and how many cases that is."""
    columns = [column for column, guard in enumerate(GUARDS.values()) if guard.far]
    left, right = (_middle(column) for column in (columns[0], columns[-1]))
    axes.plot([left - 0.4, right + 0.4], [GAP + SPAN] * 2, color=QUIET, linewidth=0.9)
    words = f"far from the buffer: {_far(told)} of {len(told)}"
    middle = ((left + right) / 2, GAP + SPAN / 2 - 0.02)
    axes.text(*middle, words, ha="center", va="center", size=SMALLEST)


def _far(told: Sequence[Case]) -> int:
    return sum(case.guard is not None and case.guard.far for case in told)


def _square(axes: Any, column: int, top: float, high: float, guard: Guard) -> None:
    """Far from the buffer with a solid edge, beside it with a dashed one: not by colour alone."""
    ink = PALETTE["vermillion"] if guard.far else PALETTE["sky"]
    wide = (WIDTH - NAMES - GAP) / len(GUARDS)
    box = Rectangle(
        (_middle(column) - wide / 2 + 0.03, top + 0.025),
        wide - 0.06,
        high - 0.05,
        facecolor=mixed(ink, PAPER, 0.18),
        edgecolor=mixed(ink, INK, 0.75),
        linestyle="-" if guard.far else "--",
    )
    axes.add_patch(box)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
