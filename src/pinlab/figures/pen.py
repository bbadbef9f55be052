"""Drawing a laid-out timeline: bands, bars, marks, flags, axis and legend."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinlab.figures.flags import FLAG, Flag, plain_inches
from pinlab.figures.lanes import (
    AXIS,
    GAP,
    HEAD,
    HOST,
    LANES,
    LEFT,
    LEGEND,
    LOOKS,
    MARKERS,
    MONOSPACE,
    NAME,
    RIGHT,
    ROW,
    WIDTH,
    Page,
    Row,
    clipped,
)
from pinlab.figures.moments import Span
from pinlab.figures.style import (
    GRID,
    HAZARD,
    INK,
    PAPER,
    QUIET,
    SMALLEST,
    Drawing,
    mixed,
    monospace_inches,
)


def drawn(page: Page) -> Drawing:
    """The page as a figure, not yet described."""
    drawing = Drawing(width=WIDTH, height=page.height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(page.height, 0))
    axes.set_axis_off()
    _Pen(axes, page).draw()
    return drawing


class _Pen:
    """Puts a laid-out page on the axes."""

    def __init__(self, axes: Axes, page: Page) -> None:
        self.axes, self.page, self.told = axes, page, page.told

    def draw(self) -> None:
        self.background()
        for span in self.told.holds:
            self.hold(span)
        for row in self.page.rows:
            self.row(row)
        self.host()
        for flag, level in zip(self.page.flags, self.page.levels, strict=True):
            self.flag(flag, level)
        self.axis()
        for index, entries in enumerate(self.page.legend):
            self.legend(entries, self.page.bottom + AXIS + LEGEND * (index + 0.5))

    def write(self, x: float, y: float, text: str, **look: Any) -> None:
        self.axes.text(x, y, text, **{"va": "center", "size": SMALLEST, **look})

    def box(self, left: float, top: float, right: float, height: float, **look: Any) -> None:
        self.axes.add_patch(Rectangle((left, top), max(right - left, 0.01), height, **look))

    def background(self) -> None:
        """A band a lane, and a hair line between steps."""
        band = {"facecolor": mixed(GRID, PAPER, 0.35), "edgecolor": "none"}
        page = self.page
        self.box(LEFT, page.host, WIDTH - RIGHT, HOST, **band)
        for top, stream in page.heads:
            self.write(0.12, top + HEAD / 2, f"stream {stream}", weight="bold")
        for row in page.rows:
            self.box(LEFT, row.top, WIDTH - RIGHT, row.height, **band)
        if page.in_time or page.cell < 0.12:
            return
        for number in range(1, len(self.told.steps)):
            ends = (page.host, page.bottom - GAP)
            x = LEFT + number * page.cell
            self.axes.plot([x, x], ends, color=PAPER, linewidth=0.8, zorder=1)

    def hold(self, span: Span) -> None:
        rows = [row for row in self.page.rows if row.stream == span.stream]
        if not rows:
            return
        left, right = self.page.reach(span)
        top, bottom = rows[0].top, rows[-1].top + rows[-1].height
        self.box(left, top, right, bottom - top, **_held(), zorder=1.5)

    def row(self, row: Row) -> None:
        middle = row.top + row.height / 2
        if row.lane:
            first = row.top + (ROW / 2 if self.page.roomy else 0.1)
            self.write(0.3 if self.page.heads else 0.12, first, row.lane, weight="bold")
        for span in row.spans:
            self.span(span, row)
        if self.page.roomy:
            (span,) = row.spans
            room = NAME - 3 * bool(self.page.heads)
            name = span.label if len(span.label) <= room else span.label[: room - 1] + "…"
            self.write(LEFT - 0.1, middle, name, ha="right", family=MONOSPACE)
            self.write(WIDTH - RIGHT + 0.1, middle, self.page.line(span.place), color=QUIET)
        elif row.lane:
            kinds = [s for r in self.page.rows for s in r.spans if r.stream == row.stream]
            count = sum(s.kind in LANES[row.lane] for s in kinds)
            word = f"{count} operation" + "s" * (count != 1)
            self.write(LEFT - 0.1, row.top + 0.1, word, ha="right", color=QUIET)

    def span(self, span: Span, row: Row) -> None:
        look, page = LOOKS[span.kind], self.page
        left, right = page.reach(span)
        top, height = row.top + row.height * 0.13, row.height * 0.74
        line = 1.2 if page.roomy else 0.6
        edge = {"edgecolor": look.ink, "linewidth": line}
        self.box(left, top, right, height, facecolor=look.tint, hatch=look.hatch, **edge, zorder=2)
        if active := page.active(span):
            self.box(active[0], top, active[1], height, facecolor=look.colour, **edge, zorder=3)
        if page.roomy:
            ends = [page.host + HOST * 0.85, top]
            dotted: Any = (0, (1, 2))
            self.axes.plot([left] * 2, ends, color=QUIET, linewidth=0.8, ls=dotted, zorder=1.8)
        for mark in span.clashes:
            x, middle = page.at(mark.step), top + height / 2
            ends = [page.host + HOST / 2, middle]
            self.axes.plot([x, x], ends, color=HAZARD, linewidth=1.4, zorder=4)
            size = 8 if page.roomy else 5
            self.axes.plot([x], [middle], "X", color=HAZARD, markersize=size, mec=PAPER, zorder=5)

    def host(self) -> None:
        page, middle = self.page, self.page.host + HOST / 2
        self.write(0.12, middle, "host", weight="bold")
        if page.file:
            self.write(WIDTH - RIGHT + 0.1, middle, clipped(page.file), color=QUIET)
        for wait in self.told.waits:
            left, right = page.reach(wait)
            if wait.ended is wait.opened and not page.in_time:
                left -= page.cell / 2
            self.box(left, middle - 0.1, right, 0.2, **_waiting(), zorder=2)
        for span in self.told.operations:
            self.mark(page.at(span.opened), page.host + HOST * 0.84, "v", QUIET, 6)
        for mark in self.told.marks:
            self.mark(page.at(mark.step), middle, **_marker(mark.kind, mark.clash))

    def mark(self, x: float, y: float, marker: str, color: str, size: float) -> None:
        self.axes.plot([x], [y], marker, color=color, markersize=size, mec=PAPER, zorder=6)

    def flag(self, flag: Flag, level: int) -> None:
        y = self.page.host - FLAG * (level + 0.5)
        ends = [self.page.host + HOST / 2, y - FLAG * 0.35]
        self.axes.plot([flag.x] * 2, ends, color=flag.colour, linewidth=0.8, zorder=4)
        weight = "bold" if flag.bold else "normal"
        self.write(flag.x + 0.06, y, flag.text, color=flag.colour, weight=weight)

    def axis(self) -> None:
        page, top = self.page, self.page.bottom - GAP + 0.04
        if page.in_time:
            ticks, unit = _time_ticks(page.total)
            places = [(page.moment(seconds), text) for seconds, text in ticks]
            word = f"time in {unit}, this run"
        else:
            room = monospace_inches("00 ", SMALLEST) + 0.05
            every = max(1, math.ceil(room / page.cell))
            numbers = range(1, len(self.told.steps) + 1, every)
            places = [(LEFT + (n - 0.5) * page.cell, str(n)) for n in numbers]
            word = "step: order, not duration"
        for x, text in places:
            self.axes.plot([x, x], [top, top + 0.04], color=QUIET, linewidth=0.8)
            self.write(x, top + 0.13, text, ha="center", color=QUIET)
        self.write(LEFT - 0.1, top + 0.13, word, ha="right", color=QUIET, style="italic")

    def legend(self, entries: list[tuple[str, str]], y: float) -> None:
        x = 0.14
        for kind, word in entries:
            self.sample(kind, x, y)
            self.write(x + 0.3, y, word)
            x += 0.55 + plain_inches(word)

    def sample(self, kind: str, x: float, y: float) -> None:
        looks = [LOOKS[name] for name in LOOKS if any(s.kind == name for s in self.told.operations)]
        if kind == "wait":
            self.box(x, y - 0.06, x + 0.24, 0.12, **_waiting())
        elif kind == "hold":
            self.box(x, y - 0.06, x + 0.24, 0.12, **_held())
        elif kind in ("flight", "run"):
            share = 0.24 / len(looks)
            for index, look in enumerate(looks):
                fill = look.tint if kind == "flight" else look.colour
                hatch = look.hatch if kind == "flight" else None
                left = x + share * index
                edge = {"edgecolor": look.ink, "linewidth": 0.8}
                self.box(left, y - 0.06, left + share, 0.12, facecolor=fill, hatch=hatch, **edge)
        else:
            self.mark(x + 0.14, y, **_marker(kind, kind == "clash"))


def _marker(kind: str, clash: bool) -> dict[str, Any]:
    if clash:
        return {"marker": "X", "color": HAZARD, "size": 11}
    colour = QUIET if kind in ("note", "query", "record", "order") else INK
    return {"marker": MARKERS[kind], "color": colour, "size": 7.5}


def _waiting() -> dict[str, Any]:
    return {"facecolor": PAPER, "edgecolor": QUIET, "hatch": "////", "linewidth": 0.8}


def _held() -> dict[str, Any]:
    look = {"facecolor": "none", "edgecolor": QUIET, "hatch": "..", "hatchcolor": GRID}
    return {**look, "linewidth": 0.8}


def _time_ticks(total: float) -> tuple[list[tuple[float, str]], str]:
    """Round moments from 0 to `total` seconds, four to eight of them, and their unit."""
    unit, scale = ("ms", 1e3) if total >= 1e-3 else ("µs", 1e6)
    span = total * scale
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next(k for k in (1, 2, 5, 10) if span / (k * step) <= 8)
    return [(k * step / scale, f"{k * step:g}") for k in range(int(span / step) + 1)], unit
