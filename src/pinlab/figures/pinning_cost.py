"""What host memory costs: time and page faults against size, one line per way to get it.

On the left the time of one go, on the right how many pages the operating system had to find a
place for. Both axes grow by factors; a count of 0 stands on a floor of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from pinlab.figures.style import Drawing, cue, house_style
from pinlab.sim.costs import Cost

WAY_LIMIT, SIZE_LIMIT = 4, 8  # more lines or sizes do not fit
WIDTH, HEIGHT = 7.5, 3.3  # inches
SIZES = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


@house_style
def pinning_cost(costs: Iterable[Cost]) -> Drawing:
    """Draw measured costs: 1 to 4 ways, the same 2 to 8 sizes for each.

    ValueError for a way that lacks a size or has it twice, and for more than fits.

    >>> one, two = Cost("pinned, new", 4096, 1e-4, 1), Cost("pinned, new", 65536, 2e-4, 16)
    >>> pinning_cost([one, two])
    <Figure: Time and page faults by size. At 64 KiB: pinned, new 200 µs, 16 page faults.>
    """
    costs = list(costs)
    table = _table(costs)
    drawing = Drawing(width=WIDTH, height=HEIGHT)
    left = drawing.add_axes((0.09, 0.16, 0.39, 0.62))
    right = drawing.add_axes((0.59, 0.16, 0.39, 0.62))
    for index, line in enumerate(table):
        _draw(left, index, line[0].way, [cost.seconds * 1e6 for cost in line])
        if all(cost.faults is not None for cost in line):
            _draw(right, index, line[0].way, [float(cost.faults or 0) for cost in line])
    left.set_yscale("log")
    right.set_yscale("symlog", linthresh=1, linscale=0.4)
    right.set_ylim(bottom=-0.4)
    for axes, title in ((left, "time of one go, µs"), (right, "page faults in one go")):
        axes.set_title(title, loc="left")
        axes.set_xticks(range(len(table[0])), [_size(cost.nbytes) for cost in table[0]])
        axes.set_xlim(-0.3, len(table[0]) - 0.7)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y")
    if not right.lines:
        right.text(0.5, 0.5, "not counted here", transform=right.transAxes, ha="center")
    handles: Any = left.lines
    drawing.legend(handles=handles, loc="upper center", ncols=len(table), bbox_to_anchor=(0.5, 1.0))
    return drawing.described(twin=pinning_cost_twin(costs), alt=pinning_cost_alt(costs))


def pinning_cost_twin(costs: Iterable[Cost]) -> list[str]:
    """The numbers of the picture as a table: time and page faults of each way and size."""
    table = _table(costs)
    rows = [["", *(_size(cost.nbytes) for cost in table[0])]]
    rows += [
        [line[0].way, *(f"{_time(c)}, {_faults(c, short=True)}" for c in line)] for line in table
    ]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "pinning cost: shortest time of one go, page faults in it",
        *(
            "  " + "  ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])])
            for row in rows
        ),
    ]


def pinning_cost_alt(costs: Iterable[Cost]) -> str:
    """One line: what each way costs at the largest size."""
    last = [line[-1] for line in _table(costs)]
    said = "; ".join(f"{cost.way} {_time(cost)}, {_faults(cost)}" for cost in last)
    return f"Time and page faults by size. At {_size(last[0].nbytes)}: {said}."


def _table(costs: Iterable[Cost]) -> list[list[Cost]]:
    """The costs as lines, one a way, in order of first mention; sizes rising."""
    lines: dict[str, list[Cost]] = {}
    for cost in costs:
        lines.setdefault(cost.way, []).append(cost)
    table = [sorted(line, key=lambda cost: cost.nbytes) for line in lines.values()]
    sizes = [[cost.nbytes for cost in line] for line in table]
    if not 1 <= len(table) <= WAY_LIMIT:
        raise ValueError(f"pinning_cost draws 1 to {WAY_LIMIT} ways, got {len(table)}")
    if not 2 <= len(sizes[0]) <= SIZE_LIMIT or len(set(sizes[0])) < len(sizes[0]):
        raise ValueError(f"pinning_cost draws 2 to {SIZE_LIMIT} different sizes, got {sizes[0]}")
    for line, there in zip(table, sizes, strict=True):
        if there != sizes[0]:
            raise ValueError(f"{line[0].way!r} has the sizes {there}, the others {sizes[0]}")
    return table


def _draw(axes: Axes, index: int, way: str, values: Sequence[float]) -> None:
    """One line; later ones have smaller, filled marks, so that equal lines both stay visible."""
    look = cue(index)
    axes.plot(
        range(len(values)),
        values,
        label=way,
        color=look.ink,
        linestyle=look.line,
        marker=look.marker,
        markersize=9 if index == 0 else 5,
        markerfacecolor="none" if index == 0 else look.ink,
        linewidth=1.6,
        clip_on=False,
    )


def _size(nbytes: int) -> str:
    for unit, name in SIZES:
        if nbytes >= unit:
            return f"{nbytes / unit:g} {name}"
    return "0 B"


def _time(cost: Cost) -> str:
    return (
        f"{cost.seconds * 1e6:,.3g} µs" if cost.seconds < 1e-3 else f"{cost.seconds * 1e3:,.3g} ms"
    )


def _faults(cost: Cost, short: bool = False) -> str:
    if cost.faults is None:
        return "-" if short else "page faults not counted"
    return f"{cost.faults:,}" if short else f"{cost.faults:,} page fault" + "s" * (cost.faults != 1)
