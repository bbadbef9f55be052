"""Schedule heat map: source lines down the side, a column for each pending operation.

A cell answers "what comes out if this operation waits until just before that line, and all others
run as soon as they are queued?". Its letter names an outcome, A being the right one; wrong cells
are hatched as well as coloured. A star marks an operation's first moment, a clock its last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinlab.figures.style import (
    GRID,
    INK,
    PAPER,
    QUIET,
    SMALLEST,
    Cue,
    Drawing,
    cue,
    house_style,
    mixed,
    monospace_inches,
)
from pinlab.schedules import Report
from pinlab.schedules.grid import Cell, Column, Grid, Row, grid

COLUMN_LIMIT, ROW_LIMIT = 10, 70  # more do not fit on a page
WIDTH, NUMBER, GAP = 7.5, 0.55, 0.12  # inches
ROW, LEGEND, FUNCTION = 0.215, 0.21, 0.24
HEAD_ONE, HEAD_MANY = 0.4, 0.95
ALIKE = 8  # more rows with equal cells are folded
AROUND = 3  # moments shown before the first choice and after the last
SOURCE, VALUE = 52, 62  # characters of a source line and of a value
MONOSPACE = "DejaVu Sans Mono"
LETTERS = "ABCDEFGHIJKL"  # of outcomes; the last stands for all further ones
COLUMNS = "abcdefghij"  # of operations, in the twin
Keep = Callable[[Column], bool]


@house_style
def schedule_heatmap(found: Report | Grid, keep: Keep | None = None) -> Drawing:
    """Draw every single choice of a program.

    Args:
        found: a report of `pinlab.schedules.explore`, or a `Grid` made from it.
        keep: with a report, which operations get a column; the default leaves kernels out where
            there are copies.

    Raises:
        ValueError: for nothing to draw, or more than 10 operations or 70 host moments.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> from pinlab.schedules import explore
    >>> device = pick_device()
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> schedule_heatmap(explore(program, expect=[5, 7])).alt
    'Schedule heat map of 1 operation against 5 host moments: 1 of 2 cells wrong, 2 outcomes.'
    """
    seen = _seen(found, keep)
    page = _Page(seen)
    drawing = Drawing(width=WIDTH, height=page.height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(page.height, 0))  # y runs down
    axes.set_axis_off()
    page.draw(axes)
    return drawing.described(twin=schedule_heatmap_twin(seen), alt=schedule_heatmap_alt(seen))


def schedule_heatmap_twin(found: Report | Grid, keep: Keep | None = None) -> list[str]:
    """The annotated listing: ``line | source | outcome if the copy runs here``."""
    seen = _seen(found, keep)
    sources = [_source(row) for row in seen.rows]
    wide = max(len(sources[at]) for at, more in _shown(seen) if not more)
    names = [f"{COLUMNS[index]} = {_describe(c)}" for index, c in enumerate(seen.columns)]
    lines = [f"schedule heat map: {', '.join(names)}"]
    head = " ".join(COLUMNS[: len(seen.columns)])
    lines.append(f"{'line':>4} | {'source':{wide}} | {head}")
    for at, more in _shown(seen):
        cells = " ".join(_letters(seen, at))
        if more:
            lines.append(f"   … | {_same(more):{wide}} | {cells}".rstrip())
        else:
            row = seen.rows[at]
            lines.append(f"{_number(row):>4} | {sources[at]:{wide}} | {cells}".rstrip())
    return lines + [f"{LETTERS[i]}: {_verdict(seen, i)}" for i in range(_kinds(seen))]


def schedule_heatmap_alt(found: Report | Grid, keep: Keep | None = None) -> str:
    """One line: the size, and how many cells are wrong."""
    seen = _seen(found, keep)
    wrong = sum(cell.outcome != seen.reference for cell in seen.cells.values())
    columns = len(seen.columns)
    return (
        f"Schedule heat map of {columns} operation{'s' * (columns != 1)} against "
        f"{len(seen.rows)} host moments: {wrong} of {len(seen.cells)} cells wrong, "
        f"{len(seen.outcomes)} outcome{'s' * (len(seen.outcomes) != 1)}."
    )


def _seen(found: Report | Grid, keep: Keep | None) -> Grid:
    seen = _trimmed(found if isinstance(found, Grid) else _grid(found, keep))
    for what, count, limit in (
        ("operations", len(seen.columns), COLUMN_LIMIT),
        ("host moments", len(_shown(seen)), ROW_LIMIT),
    ):
        if not 1 <= count <= limit:
            raise ValueError(f"a heat map shows 1 to {limit} {what}, got {count}")
    return seen


def _grid(report: Report, keep: Keep | None) -> Grid:
    if keep is not None:
        return grid(report, keep)
    copies = grid(report, lambda column: column.kind != "kernel")
    return copies if copies.columns else grid(report)


def _trimmed(seen: Grid) -> Grid:
    """Leave out the moments long before the first choice and after the last one."""
    filled = [row for row, _ in seen.cells]
    first, last = max(0, min(filled, default=0) - AROUND), max(filled, default=0) + AROUND
    rows = seen.rows[first : last + 1]
    cells = {(row - first, column): cell for (row, column), cell in seen.cells.items()}
    return Grid(rows, seen.columns, cells, seen.latest, seen.in_order, seen.reference)


def _letters(seen: Grid, at: int) -> list[str]:
    return [_letter(seen, seen.cells.get((at, c))) for c in range(len(seen.columns))]


def _shown(seen: Grid) -> list[tuple[int, int]]:
    """Rows to show: (index, 0), or (index, n) for n rows from there that are all alike."""
    shown: list[tuple[int, int]] = []
    start = 0
    for at in range(1, len(seen.rows) + 1):
        if at < len(seen.rows) and _letters(seen, at) == _letters(seen, start):
            continue
        if at - start > ALIKE:
            shown += [(start, 0), (start + 1, 0), (start + 2, at - start - 4)]
            shown += [(at - 2, 0), (at - 1, 0)]
        else:
            shown += [(row, 0) for row in range(start, at)]
        start = at
    return shown


def _same(more: int) -> str:
    return f"({more} more moments, nothing changes)"


def _describe(column: Column) -> str:
    stream = f" on stream {column.stream}" if column.stream else ""
    return f"{_short(column.name)}{stream} queued at line {column.queued_at.lineno}"


def _short(name: str) -> str:
    return name.removeprefix("aten.").split(".")[0]


def _source(row: Row) -> str:
    text = "(the program has returned)" if row.place is None else row.place.source
    if row.position[1]:
        text = "  … within: " + text
    return text if len(text) <= SOURCE else text[: SOURCE - 1] + "…"


def _number(row: Row) -> str:
    return "" if row.position[1] else str(row)


def _letter(seen: Grid, cell: Cell | None) -> str:
    return "·" if cell is None else LETTERS[_rank(seen, cell)]


def _kinds(seen: Grid) -> int:
    """How many letters are in use."""
    return min(len(seen.outcomes), len(LETTERS))


def _rank(seen: Grid, cell: Cell) -> int:
    return min(seen.outcomes.index(cell.outcome), len(LETTERS) - 1)


def _verdict(seen: Grid, index: int) -> str:
    further = len(seen.outcomes) - index
    if index == len(LETTERS) - 1 and further > 1:
        return f"{further} further outcomes (WRONG)"
    outcome = seen.outcomes[index]
    text = " ".join(repr(outcome).split())
    text = text if len(text) <= VALUE else text[: VALUE - 1] + "…"
    notes = ["right"] if outcome == seen.reference else ["WRONG"]
    notes += ["in order"] if outcome == seen.in_order else []
    notes += ["latest"] if outcome == seen.latest else []
    return f"{text} ({', '.join(notes)})"


class _Page:
    """Lays the grid out in inches, y downwards, and draws it."""

    def __init__(self, seen: Grid) -> None:
        self.seen = seen
        self.shown = _shown(seen)
        rows = [seen.rows[at] for at, more in self.shown if not more]
        text = max(monospace_inches(_source(row), SMALLEST) for row in rows)
        self.left = NUMBER + min(text, 4.6) + 0.15
        room = (WIDTH - self.left - 0.15) / len(seen.columns)
        self.cell = min(0.62, room)
        self.heads = self._heads()
        self.head = HEAD_ONE if len(seen.columns) == 1 else HEAD_MANY
        self.height = (
            self.head
            + ROW * len(self.shown)
            + FUNCTION * len(self.heads)
            + GAP
            + LEGEND * (_kinds(seen) + 1)
            + GAP
        )

    def _heads(self) -> dict[int, str]:
        """Row index → name of the function that begins there, if there are several."""
        names = [(at, self.seen.rows[at].function) for at, more in self.shown if not more]
        if len({name for _, name in names if name}) < 2:
            return {}
        before = ["", *(name for _, name in names)]
        return {at: name for (at, name), last in zip(names, before, strict=False) if name != last}

    def draw(self, axes: Axes) -> None:
        self.axes = axes
        for index, column in enumerate(self.seen.columns):
            self._column_head(index, column)
        top = self.head
        for at, more in self.shown:
            if at in self.heads:
                where = self.heads[at]
                text = f"in {where}()" if where else "at the end"
                self._write(NUMBER, top + FUNCTION / 2, text, style="italic")
                top += FUNCTION
            self._row(at, more, top)
            top += ROW
        self._legend(top + GAP)

    def _write(self, x: float, y: float, text: str, **look: Any) -> None:
        self.axes.text(x, y, text, **{"va": "center", "size": SMALLEST, **look})

    def _column_head(self, index: int, column: Column) -> None:
        middle = self.left + (index + 0.5) * self.cell
        label = f"{_short(column.name)[:9]} {column.queued_at.lineno}"
        if len(self.seen.columns) == 1:
            self._write(middle, self.head - 0.12, label, ha="center", weight="bold")
        else:
            look: dict[str, Any] = {"rotation": 55, "ha": "left", "va": "bottom", "weight": "bold"}
            self.axes.text(middle - 0.06, self.head - 0.06, label, size=SMALLEST, **look)

    def _row(self, at: int, more: int, top: float) -> None:
        row, middle = self.seen.rows[at], top + ROW / 2
        number = "…" if more else _number(row)
        self._write(NUMBER - 0.1, middle, number, ha="right", color=QUIET, family=MONOSPACE)
        quiet = more or row.place is None
        look: dict[str, Any] = {"color": QUIET, "style": "italic"} if quiet else {}
        text = _same(more) if more else _source(row)
        self._write(NUMBER, middle, text, family=MONOSPACE, **look)
        for index in range(len(self.seen.columns)):
            self._cell(at, index, top)

    def _cell(self, at: int, index: int, top: float) -> None:
        cell = self.seen.cells.get((at, index))
        left = self.left + index * self.cell
        if cell is None:
            box: dict[str, Any] = {"facecolor": mixed(GRID, PAPER, 0.25), "edgecolor": PAPER}
            self.axes.add_patch(Rectangle((left, top), self.cell, ROW, **box))
            return
        number = _rank(self.seen, cell)
        look = _look(number)
        patch = Rectangle(
            (left, top),
            self.cell,
            ROW,
            facecolor=look.tint,
            edgecolor=PAPER,
            hatch=look.hatch,
            hatchcolor=mixed(look.colour, PAPER, 0.6),
        )
        self.axes.add_patch(patch)
        first = (at - 1, index) not in self.seen.cells
        last = (at + 1, index) not in self.seen.cells
        letter = LETTERS[number] + ("★" if first else "") + ("◷" if last and not first else "")
        plate = {"boxstyle": "round,pad=0.1", "facecolor": look.tint, "edgecolor": "none"}
        middle = left + self.cell / 2
        self._write(middle, top + ROW / 2, letter, ha="center", weight="bold", bbox=plate)

    def _legend(self, top: float) -> None:
        note = "★ first moment after it was queued    ◷ last moment: then the host waits for it"
        self._write(NUMBER, top + LEGEND / 2, note, color=QUIET)
        for index in range(_kinds(self.seen)):
            middle = top + LEGEND * (index + 1.5)
            look = _look(index)
            box: dict[str, Any] = {
                "facecolor": look.tint,
                "hatch": look.hatch,
                "edgecolor": look.ink,
            }
            self.axes.add_patch(Rectangle((0.15, middle - 0.07), 0.24, 0.14, **box))
            text = f"{LETTERS[index]}  {_verdict(self.seen, index)}"
            self._write(NUMBER, middle, text, color=INK, family=MONOSPACE)


def _look(number: int) -> Cue:
    """A, the right outcome, is plain; every other has a hatch."""
    if number == 0:
        return cue(0)
    return cue(1 + (number - 1) % 6)
