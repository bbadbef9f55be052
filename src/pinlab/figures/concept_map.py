"""Concept map of the series: lessons as boxes, ideas as pills, an arrow for gives and needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from pinlab.figures.style import (
    FONT_SIZE,
    INK,
    PALETTE,
    PAPER,
    QUIET,
    SMALLEST,
    Drawing,
    house_style,
    mixed,
)

WIDTH, MARGIN, FOOT = 7.5, 0.12, 0.32  # inches
LESSON, IDEA, GAP = 0.62, 0.3, 0.34  # heights of a row, and between two rows
BOX, PILL = 1.78, 1.62  # widths
LIMIT = 4  # things side by side
BELIEFS_IN_A_LINE = 6


class LessonLike(Protocol):
    """What the map shows of a lesson; `pinlab.classroom.series.Lesson` has more."""

    @property
    def number(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def gives(self) -> tuple[str, ...]: ...
    @property
    def beliefs(self) -> tuple[str, ...]: ...


Spot = tuple[float, float, float]  # middle, top, height; inches from the upper left corner


@house_style
def concept_map(series: Sequence[LessonLike]) -> Drawing:
    """Draw the map, earlier above later; under each lesson's name the beliefs that it meets.

    Raises:
        ValueError: an idea that nobody gives, or two give, or that is needed before it is given;
            more than 4 lessons on one level.
    """
    levels = _levels(series)
    rows, height = _rows(levels, series)
    drawing = Drawing(width=WIDTH, height=height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    for lesson in series:
        for idea in lesson.gives:
            _arrow(axes, rows[lesson.number], rows[idea])
        for idea in lesson.needs:
            _arrow(axes, rows[idea], rows[lesson.number])
    for lesson in series:
        _lesson(axes, lesson, rows[lesson.number])
        for idea in lesson.gives:
            _idea(axes, idea, rows[idea])
    legend = "box: a lesson, with the beliefs that it meets; pill: an idea that it gives"
    axes.text(MARGIN, height - FOOT / 2, legend, va="center", size=SMALLEST, color=QUIET)
    return drawing.described(twin=concept_map_twin(series), alt=concept_map_alt(series))


def concept_map_twin(series: Sequence[LessonLike]) -> list[str]:
    """One line for each lesson: what it needs, gives, and which beliefs it meets."""
    _levels(series)
    wide = max(len(lesson.title) for lesson in series)
    lines = [f"concept map: {len(series)} lessons, {len(_givers(series))} ideas"]
    for lesson in series:
        needs, gives = ", ".join(lesson.needs) or "–", ", ".join(lesson.gives) or "–"
        lines.append(f"  {lesson.number} {lesson.title:{wide}}  needs {needs}; gives {gives}")
        lines.append(f"     {'':{wide}}  beliefs {' '.join(lesson.beliefs) or '–'}")
    return lines


def concept_map_alt(series: Sequence[LessonLike]) -> str:
    """One line: how many of what, and where the most comes together."""
    _levels(series)
    meeting = max(series, key=lambda lesson: len(lesson.needs))
    return (
        f"Concept map of {len(series)} lessons and {len(_givers(series))} ideas. Lesson "
        f"{meeting.number}, {meeting.title}, brings together {_listed(meeting.needs)}."
    )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _givers(series: Sequence[LessonLike]) -> dict[str, LessonLike]:
    found: dict[str, LessonLike] = {}
    for lesson in series:
        for idea in lesson.gives:
            if idea in found:
                raise ValueError(f"{idea!r} is given by {found[idea].number} and {lesson.number}")
            found[idea] = lesson
    return found


def _levels(series: Sequence[LessonLike]) -> list[list[LessonLike]]:
    """Lessons by level: one below the lowest of those whose ideas it needs."""
    if not series:
        raise ValueError("a concept map shows at least one lesson")
    givers, level = _givers(series), dict[str, int]()
    for lesson in series:
        for idea in lesson.needs:
            if idea not in givers or givers[idea].number not in level:
                raise ValueError(f"lesson {lesson.number} needs {idea!r}, which nobody gave before")
        level[lesson.number] = max((level[givers[i].number] + 1 for i in lesson.needs), default=0)
    levels = [
        [lesson for lesson in series if level[lesson.number] == n] for n in set(level.values())
    ]
    widest = max(levels, key=len)
    if len(widest) > LIMIT:
        raise ValueError(f"{len(widest)} lessons on one level; a concept map has room for {LIMIT}")
    return levels


def _rows(
    levels: Sequence[Sequence[LessonLike]], series: Sequence[LessonLike]
) -> tuple[dict[str, Spot], float]:
    """Where each lesson and each idea stands, and the height of it all."""
    spots: dict[str, Spot] = {}
    top = MARGIN
    for lessons in levels:
        pitch = WIDTH / len(lessons)
        ideas = max((len(lesson.gives) for lesson in lessons), default=0)
        for place, lesson in enumerate(lessons):
            middle = (place + 0.5) * pitch
            spots[lesson.number] = (middle, top, LESSON)
            for down, idea in enumerate(lesson.gives):
                spots[idea] = (middle, top + LESSON + GAP + down * (IDEA + 0.1), IDEA)
        top += LESSON + GAP + (GAP + ideas * (IDEA + 0.1) - 0.1 if ideas else 0)
    return spots, top + FOOT - GAP + MARGIN


def _lesson(axes: Axes, lesson: LessonLike, spot: Spot) -> None:
    middle, top, height = spot
    tint = mixed(PALETTE["sky"], PAPER, 0.25)
    _box(axes, spot, BOX, tint, PALETTE["blue"], "round,pad=0,rounding_size=0.04")
    name = f"{lesson.number} {lesson.title}"
    lines = [" ".join(lesson.beliefs[:BELIEFS_IN_A_LINE])]
    lines += [" ".join(lesson.beliefs[BELIEFS_IN_A_LINE:])] * (
        len(lesson.beliefs) > BELIEFS_IN_A_LINE
    )
    step = height / (len(lines) + 1)
    look: dict[str, Any] = {"ha": "center", "va": "center"}
    axes.text(middle, top + step / 2, name, weight="bold", size=SMALLEST, color=INK, **look)
    for down, line in enumerate(lines, 1):
        axes.text(middle, top + (down + 0.5) * step, line, size=SMALLEST, color=INK, **look)


def _idea(axes: Axes, idea: str, spot: Spot) -> None:
    middle, top, height = spot
    _box(axes, spot, PILL, PAPER, QUIET, f"round,pad=0,rounding_size={height / 2}")
    axes.text(
        middle, top + height / 2, idea, ha="center", va="center", size=FONT_SIZE, style="italic"
    )


def _box(axes: Axes, spot: Spot, width: float, face: str, edge: str, style: str) -> None:
    middle, top, height = spot
    look: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "linewidth": 1.1, "zorder": 2}
    axes.add_patch(FancyBboxPatch((middle - width / 2, top), width, height, boxstyle=style, **look))


def _arrow(axes: Axes, start: Spot, end: Spot) -> None:
    """From lower edge to upper edge; from further up to the side, past what lies between."""
    arrow = {"arrowstyle": "-|>", "color": QUIET, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 1}
    bottom = start[1] + start[2]
    target = (end[0], end[1])
    if end[1] - bottom > 2 * GAP and start[0] != end[0]:
        side = BOX / 2 if start[0] > end[0] else -BOX / 2
        target = (end[0] + side, end[1] + end[2] / 2)
    axes.annotate("", xy=target, xytext=(start[0], bottom), arrowprops=arrow, zorder=1)
