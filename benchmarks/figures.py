"""The two kinds of plots of the benchmarks' page: bars with their limit, and curves of growth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.row import Row
from pinlab.figures.style import HAZARD, SMALLEST, Drawing, cue, house_style

WIDTH, BAR, HEAD, FOOT = 7.5, 0.27, 0.5, 0.6  # inches
LETTER = 0.072  # inches, of a label at 9 points
MOST = 30  # bars
FACTORS = 50  # the longest bar in lengths of the shortest, on a plain axis
Points = Sequence[Sequence[float]]


@house_style
def bars(title: str, unit: str, rows: Sequence[Row]) -> Drawing:
    """One bar a row, its value at its end; a dashed line where a limit is.

    Raises:
        ValueError: for no row, or more than 30.

    >>> bars("launch", "times plain", [Row("h + 1", 6, "times plain", at_most=8)])
    <Figure: launch, times plain: 1 bar, from 6 to 6 (h + 1). The limit is 8.>
    """
    if not 1 <= len(rows) <= MOST:
        raise ValueError(f"{title}: {len(rows)} bars; a picture has 1 to {MOST}")
    height = HEAD + BAR * len(rows) + FOOT
    left = 0.2 + LETTER * max(len(row.name) for row in rows)
    drawing = Drawing(width=WIDTH, height=height)
    place = (left / WIDTH, FOOT / height, (WIDTH - left - 0.7) / WIDTH, BAR * len(rows) / height)
    axes = drawing.add_axes(place)
    look = cue(0)
    places = range(len(rows))
    axes.barh(places, [row.value for row in rows], height=0.62, color=look.tint, edgecolor=look.ink)
    axes.set_yticks(places, [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for line, row in zip(places, rows, strict=True):
        axes.annotate(
            number(row.value),
            (row.value, line),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            size=SMALLEST,
            zorder=5,
            bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.8},
        )
        if row.at_most is not None:
            axes.vlines(
                row.at_most, line - 0.5, line + 0.5, colors=HAZARD, linestyles="--", zorder=1
            )
    _axis(axes, unit, rows)
    drawing.text(0.1 / WIDTH, 1 - 0.28 / height, title, size=10.5)
    return drawing.described(twin=_bars_twin(title, unit, rows), alt=_bars_alt(title, unit, rows))


@house_style
def curves(title: str, x: str, y: str, lines: Mapping[str, Points]) -> Drawing:
    """Growth of y with x, both axes by factors; one line each, up to seven.

    Raises:
        ValueError: for no line, more than seven, one of fewer than two points, or a number that
            is not above zero.

    >>> curves("cost", "lines", "seconds", {"reduced": [(1, 2), (10, 3)]})
    <Figure: cost: seconds against lines. reduced: 2 at 1, 3 at 10.>
    """
    _check(title, lines)
    drawing = Drawing(width=WIDTH, height=3.6)
    axes = drawing.add_axes((0.17, 0.15, 0.80, 0.66))
    for index, (name, points) in enumerate(lines.items()):
        look = cue(index)
        axes.plot(
            [point[0] for point in points],
            [point[1] for point in points],
            label=name,
            color=look.ink,
            linestyle=look.line,
            marker=look.marker,
            markersize=5,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
        axis.set_minor_formatter(NullFormatter())
    ys = [point[1] for points in lines.values() for point in points]
    if max(ys) < 100 * min(ys):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    xs = sorted({point[0] for points in lines.values() for point in points})
    if len(xs) <= 8 and xs[-1] / xs[0] < 1000:
        axes.set_xticks(xs)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid()
    drawing.text(0.1 / WIDTH, 1 - 0.28 / 3.6, title, size=10.5)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=min(4, len(lines)))
    return drawing.described(
        twin=_curves_twin(title, x, y, lines), alt=_curves_alt(title, x, y, lines)
    )


def number(value: float) -> str:
    """Three figures at most, without an exponent.

    >>> number(0.0304), number(12345.6), number(6)
    ('0.0304', '12,346', '6')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _axis(axes: Axes, unit: str, rows: Sequence[Row]) -> None:
    """Values along the bottom: from 0 up, or by factors where the smallest would not be seen."""
    values = [row.value for row in rows]
    wide = max(values + _limits(rows))
    by_factors = min(values) > 0 and wide > FACTORS * min(values)
    if by_factors:
        axes.set_xscale("log")
        axes.set_xlim(10 ** math.floor(math.log10(min(values))), 1.3 * wide)
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, 1.04 * wide or 1)
        axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
    words = [
        unit,
        *["axis by factors of ten"] * by_factors,
        *["dashed: the limit"] * bool(_limits(rows)),
    ]
    axes.set_xlabel("; ".join(words))


def _limits(rows: Sequence[Row]) -> list[float]:
    return [row.at_most for row in rows if row.at_most is not None]


def _bars_twin(title: str, unit: str, rows: Sequence[Row]) -> list[str]:
    wide = max(len(row.name) for row in rows)
    digits = max(len(number(row.value)) for row in rows)
    lines = [f"{title}, {unit}"]
    for row in rows:
        limit = f"  ({row.limit})" if row.limit else ""
        lines.append(f"  {row.name:{wide}}  {number(row.value):>{digits}}{limit}")
    return lines


def _bars_alt(title: str, unit: str, rows: Sequence[Row]) -> str:
    low, high = (find(rows, key=lambda row: row.value) for find in (min, max))
    plural = "" if len(rows) == 1 else "s"
    words = (
        f"{title}, {unit}: {len(rows)} bar{plural}, from {number(low.value)} "
        f"to {number(high.value)} ({high.name})."
    )
    limits = sorted(set(_limits(rows)))
    return words + (f" The limit is {number(limits[0])}." if len(limits) == 1 else "")


def _curves_twin(title: str, x: str, y: str, lines: Mapping[str, Points]) -> list[str]:
    found = [f"{title}: {y} against {x}"]
    for name, points in lines.items():
        found.append(f"  {name}: " + ", ".join(f"{number(b)} at {number(a)}" for a, b in points))
    return found


def _curves_alt(title: str, x: str, y: str, lines: Mapping[str, Points]) -> str:
    said = "; ".join(
        f"{name}: {number(points[0][1])} at {number(points[0][0])}, "
        f"{number(points[-1][1])} at {number(points[-1][0])}"
        for name, points in lines.items()
    )
    return f"{title}: {y} against {x}. {said}."


def _check(title: str, lines: Mapping[str, Points]) -> None:
    if not 1 <= len(lines) <= 7:
        raise ValueError(f"{title}: {len(lines)} curves; a picture has 1 to 7")
    for name, points in lines.items():
        if len(points) < 2 or any(not value > 0 for point in points for value in point):
            raise ValueError(f"{title}, {name}: 2 points or more, all above 0, not {points}")
