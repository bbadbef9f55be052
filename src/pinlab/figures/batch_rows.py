"""The rows of a batch after each call: who has a row, and what number stands in it.

One column a call, one box a row. A box has the colour and the name of its request; a row without a
request has no colour, and its number is what the last one left there. A thick frame marks a number
that the call changed.
"""

from __future__ import annotations

import string
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinlab.figures.style import CUES, GRID, INK, PAPER, QUIET, SMALLEST, Drawing, cue, house_style
from pinlab.serving import InputBatch

SHOT_LIMIT, ROW_LIMIT = 7, 8  # columns and rows; more do not fit on a page
CHARACTER, BOLD = 0.08, 0.1  # inches a character in a box, and over a column
WIDTH, LEFT, RIGHT = 7.5, 0.75, 0.1  # inches: the figure and its gutters
COLUMN, ROW, HEAD, FOOT, LEGEND = 1.2, 0.34, 0.32, 0.3, 0.3  # inches
MONOSPACE = "DejaVu Sans Mono"
FREE = "no colour: no request, the old number stays"


@dataclass(frozen=True)
class Shot:
    """The rows of a batch at one moment, copied.

    Attributes:
        call: what was called just before, in a few words.
        owners: the request of each row, or None.
        numbers: ``num_prompt_tokens`` of each row, those without a request included.
    """

    call: str
    owners: tuple[str | None, ...]
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, call: str, batch: InputBatch) -> Shot:
        """What the batch's rows hold now.

        >>> from pinlab import sim
        >>> sim.install()
        >>> Shot.of("new", InputBatch(2, "sim"))
        <after new: -: 0, -: 0>
        """
        names = {row: req_id for req_id, row in batch.req_id_to_index.items()}
        owners = tuple(names.get(row) for row in range(batch.max_num_reqs))
        return cls(call, owners, tuple(int(number) for number in batch.num_prompt_tokens))

    @property
    def num_reqs(self) -> int:
        """How many rows have a request."""
        return sum(owner is not None for owner in self.owners)

    def __repr__(self) -> str:
        rows = zip(self.owners, self.numbers, strict=True)
        said = ", ".join(f"{owner or '-'}: {number}" for owner, number in rows)
        return f"<after {self.call}: {said}>"


@house_style
def batch_rows(shots: Iterable[Shot]) -> Drawing:
    """Draw 1 to 7 shots of one batch of 1 to 8 rows, in the order of the calls.

    ValueError for more than fits, and for shots of batches of different size.

    >>> new = Shot("new", (None, None), (0, 0))
    >>> batch_rows([new, Shot("add a", ("a", None), (3, 0))])
    <Figure: Rows of a batch after 2 calls. After add a: row 0 a with 3, row 1 free with 0.>
    """
    shots = _checked(shots)
    rows = len(shots[0].owners)
    height = HEAD + rows * ROW + FOOT + LEGEND
    drawing = Drawing(width=WIDTH, height=height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))  # y runs down
    axes.set_axis_off()
    for row in range(rows):
        _write(axes, LEFT - 0.12, HEAD + (row + 0.5) * ROW, f"row {row}", ha="right", color=QUIET)
    foot = HEAD + rows * ROW + FOOT / 2
    _write(axes, LEFT - 0.12, foot, "in use", ha="right", color=QUIET)
    column = min(COLUMN, (WIDTH - LEFT - RIGHT) / len(shots))
    looks = _looks(shots)
    for index, shot in enumerate(shots):
        middle = LEFT + (index + 0.5) * column
        _write(axes, middle, HEAD / 2, _clipped(shot.call, int(column / BOLD)), weight="bold")
        _write(axes, middle, foot, f"{shot.num_reqs} of {rows}", color=QUIET)
        before = shots[index - 1] if index else shot
        for row in range(rows):
            left, top = LEFT + index * column + 0.05, HEAD + row * ROW + 0.03
            _box(axes, left, top, column - 0.1, shot, before, row, looks)
    legend = f"thick frame: the call changed this number{' ' * 5}{FREE}"
    _write(axes, LEFT + 0.05, height - LEGEND / 2, legend, ha="left", color=QUIET)
    return drawing.described(twin=batch_rows_twin(shots), alt=batch_rows_alt(shots))


def batch_rows_twin(shots: Iterable[Shot]) -> list[str]:
    """A table with the same facts: ``a 3`` is request a with 3 tokens, ``*`` what the call changed.

    >>> new = Shot("new", (None, None), (0, 0))
    >>> print("\\n".join(batch_rows_twin([new, Shot("add a", ("a", None), (3, 0))])))
    batch rows after each call: - no request, * changed by the call
           new  add a
    row 0  - 0  a 3*
    row 1  - 0  - 0
    in use   0  1
    """
    shots = _checked(shots)
    columns = [["", *(f"row {row}" for row in range(len(shots[0].owners))), "in use"]]
    for index, shot in enumerate(shots):
        before = shots[index - 1] if index else shot
        cells = [
            f"{owner or '-'} {number}{'*' * (number != before.numbers[row])}"
            for row, (owner, number) in enumerate(zip(shot.owners, shot.numbers, strict=True))
        ]
        columns.append([shot.call, *cells, str(shot.num_reqs)])
    wide = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    ]
    return ["batch rows after each call: - no request, * changed by the call", *lines]


def batch_rows_alt(shots: Iterable[Shot]) -> str:
    """One line: how many calls, and the rows after the last one."""
    shots = _checked(shots)
    last = shots[-1]
    rows = ", ".join(
        f"row {row} {owner or 'free'} with {number}"
        for row, (owner, number) in enumerate(zip(last.owners, last.numbers, strict=True))
    )
    calls = f"{len(shots)} call" + "s" * (len(shots) != 1)
    return f"Rows of a batch after {calls}. After {last.call}: {rows}."


def _checked(shots: Iterable[Shot]) -> list[Shot]:
    found = list(shots)
    if not 1 <= len(found) <= SHOT_LIMIT:
        raise ValueError(f"batch_rows draws 1 to {SHOT_LIMIT} shots, got {len(found)}")
    sizes = sorted({len(shot.owners) for shot in found})
    if len(sizes) > 1:
        raise ValueError(f"the shots are of batches of different size: {sizes} rows")
    if not 1 <= sizes[0] <= ROW_LIMIT:
        raise ValueError(f"batch_rows draws 1 to {ROW_LIMIT} rows, got {sizes[0]}")
    return found


def _looks(shots: list[Shot]) -> dict[str, str]:
    """Request → colour, from its name, so that a request keeps its colour from figure to figure.

    If two names ask for one colour, the later name takes the next free one. The name in the box is
    the second cue.
    """
    looks: dict[str, int] = {}
    for name in sorted({who for shot in shots for who in shot.owners if who is not None}):
        letter = string.ascii_lowercase.find(name) if len(name) == 1 else -1
        first = zlib.crc32(name.encode()) if letter < 0 else letter
        places = [(first + step) % len(CUES) for step in range(len(CUES))]
        looks[name] = next((p for p in places if p not in looks.values()), places[0])
    return {name: cue(place).tint for name, place in looks.items()}


def _box(
    axes: Axes,
    left: float,
    top: float,
    width: float,
    shot: Shot,
    before: Shot,
    row: int,
    looks: dict[str, str],
) -> None:
    owner, number = shot.owners[row], shot.numbers[row]
    changed = number != before.numbers[row]
    edge: dict[str, Any] = {
        "edgecolor": INK if changed else GRID,
        "linewidth": 2.0 if changed else 0.9,
    }
    face = PAPER if owner is None else looks[owner]
    axes.add_patch(Rectangle((left, top), width, ROW - 0.06, facecolor=face, **edge))
    middle, ink = top + (ROW - 0.06) / 2, QUIET if owner is None else INK
    name = (
        "-"
        if owner is None
        else _clipped(owner, int((width - 0.24) / CHARACTER) - len(str(number)))
    )
    _write(axes, left + 0.08, middle, name, ha="left", color=ink, family=MONOSPACE)
    _write(axes, left + width - 0.08, middle, str(number), ha="right", color=ink, family=MONOSPACE)


def _write(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    axes.text(x, y, text, **{"va": "center", "ha": "center", "size": SMALLEST, **look})


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
