"""Memory map: which names look at which bytes, who owns them, what is pinned, who still reads.

Each storage is a band, a byte axis under it; each name is a row, drawn over the bytes it reaches.
Two marks in the same column are the same byte. The first row of an owner is plain, views of it
are hatched, and a queued operation that has yet to read or write stands below in its own colour.
"""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinlab.detect import AliasMap, PendingUse, Storage, View, alias_map
from pinlab.figures.style import (
    GRID,
    HAZARD,
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

NAME_LIMIT = 24  # rows; more do not fit on a page
PIECE_LIMIT = 64  # runs drawn one by one; beyond, the outer bounds
NAME_CHARACTERS, NOTE_CHARACTERS, HEAD_CHARACTERS = 20, 28, 80
WIDTH, LEFT, RIGHT = 7.5, 1.75, 2.2  # inches: the figure, and the gutters for names and layouts
ROW, BAR, HEAD, AXIS, GAP = 0.30, 0.22, 0.28, 0.26, 0.14  # inches
MONOSPACE = "DejaVu Sans Mono"
SCALE_RATIO = 16  # storages that differ by more get a scale each


@house_style
def memory_map(*objects: Any, **named: Any) -> Drawing:
    """Draw the memory of live objects, or of an ``AliasMap`` taken earlier.

    Takes what ``pinlab.detect.alias_map`` takes. ValueError for none, or more than 24 names.

    >>> import numpy as np
    >>> rows = np.array([3, 5, 2, 0], dtype=np.int32)
    >>> memory_map(rows=rows, head=rows[:2])
    <Figure: Memory map of 2 names in 1 storage. Storage 1, 16 bytes: rows and head.>
    """
    seen = _seen(objects, named)
    names = sum(len(storage.views) for storage in seen.storages)
    if not 1 <= names <= NAME_LIMIT:
        raise ValueError(f"memory_map draws 1 to {NAME_LIMIT} names, got {names}")
    sizes = [storage.nbytes for storage in seen.storages if storage.nbytes]
    one_scale = not sizes or max(sizes) <= SCALE_RATIO * min(sizes)
    height = GAP + (0 if one_scale else 0.15) + sum(_height(storage) for storage in seen.storages)
    drawing = Drawing(width=WIDTH, height=height)
    canvas = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))  # y runs down
    canvas.set_axis_off()
    top = GAP
    for storage in seen.storages:
        across = max(sizes, default=1) if one_scale else max(storage.nbytes, 1)
        _Strip(canvas, storage, top, (WIDTH - LEFT - RIGHT) / across).draw()
        top += _height(storage)
    if not one_scale:
        note: dict[str, Any] = {
            "ha": "right",
            "va": "bottom",
            "style": "italic",
            "color": QUIET,
            "size": SMALLEST,
        }
        canvas.text(WIDTH - 0.1, height - 0.06, "each storage on a scale of its own", **note)
    return drawing.described(twin=memory_map_twin(seen), alt=memory_map_alt(seen))


def memory_map_twin(*objects: Any, **named: Any) -> list[str]:
    """The facts of the picture as lines of text."""
    seen = _seen(objects, named)
    names, storages = sum(map(len, seen.groups)), len(seen.storages)
    return [
        f"memory map: {_count(names, 'name')}, {_count(storages, 'storage')}",
        *str(seen).split("\n"),
    ]


def memory_map_alt(*objects: Any, **named: Any) -> str:
    """One line that says who looks at what."""
    seen = _seen(objects, named)
    names = sum(map(len, seen.groups))
    text = f"Memory map of {_count(names, 'name')} in {_count(len(seen.storages), 'storage')}."
    for storage in seen.storages:
        who = _joined([view.name for view in storage.views])
        pinned = " pinned" if storage.pinned else ""
        text += f" Storage {storage.number}, {storage.nbytes}{pinned} bytes: {who}."
    if seen.pending:
        text += f" {_count(len(seen.pending), 'queued operation')} still to use them."
    return text


def _seen(objects: tuple[Any, ...], named: dict[str, Any]) -> AliasMap:
    if len(objects) == 1 and isinstance(objects[0], AliasMap) and not named:
        return objects[0]
    return alias_map(*objects, **named)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _rows(storage: Storage) -> int:
    return len(storage.views) + len(storage.remarks) + len(storage.pending)


def _height(storage: Storage) -> float:
    return HEAD + _rows(storage) * ROW + AXIS + GAP


class _Strip:
    """Draws one storage; knows where a byte lies on the page. Lengths in inches, y downwards."""

    def __init__(self, canvas: Axes, storage: Storage, top: float, per_byte: float) -> None:
        self.canvas, self.storage, self.top, self.per_byte = canvas, storage, top, per_byte

    def x(self, byte: float) -> float:
        return LEFT + byte * self.per_byte

    def draw(self) -> None:
        title = _clipped(self.storage.title, HEAD_CHARACTERS)
        self.canvas.text(0.12, self.top + HEAD / 2, title, va="center", weight="bold")
        self.band()
        middle = self.top + HEAD + ROW / 2
        for index, view in enumerate(self.storage.views):
            self.view(view, cue(index), middle)
            middle += ROW
        for remark in self.storage.remarks:
            self.write(LEFT + 0.06, middle, remark, ha="left", style="italic")
            middle += ROW
        for use in self.storage.pending:
            self.pending(use, middle)
            middle += ROW
        self.axis(middle - ROW / 2)

    def write(self, x: float, y: float, text: str, **look: Any) -> None:
        self.canvas.text(x, y, text, **{"va": "center", "size": SMALLEST, **look})

    def gutters(self, middle: float, name: str, note: str, **look: Any) -> None:
        """The words to the left and to the right of a row."""
        left = {"ha": "right", "family": MONOSPACE, **look}
        self.write(LEFT - 0.1, middle, _clipped(name, NAME_CHARACTERS), **left)
        right = {"color": QUIET, **look}
        self.write(WIDTH - RIGHT + 0.1, middle, _clipped(note, NOTE_CHARACTERS), **right)

    def band(self) -> None:
        """The storage itself, behind the rows: hatched and framed if it is pinned."""
        pinned = self.storage.pinned
        self.canvas.add_patch(
            Rectangle(
                (LEFT, self.top + HEAD),
                self.storage.nbytes * self.per_byte,
                _rows(self.storage) * ROW,
                facecolor=mixed(GRID, PAPER, 0.35),
                edgecolor=QUIET if pinned else GRID,
                hatch="//" if pinned else None,
                hatchcolor=GRID,
                linewidth=2.0 if pinned else 1.0,
            )
        )

    def view(self, view: View, look: Cue, middle: float) -> None:
        note = f"same object as {view.same_as}" if view.same_as else view.layout
        self.gutters(middle, view.name, ("" if view.writable else "read-only ") + note)
        many = len(view.runs) > PIECE_LIMIT
        for start, stop in [(view.runs[0][0], view.runs[-1][1])] if many else view.runs:
            self.canvas.add_patch(
                Rectangle(
                    (self.x(start), middle - BAR / 2),
                    (stop - start) * self.per_byte,
                    BAR,
                    facecolor=look.tint,
                    edgecolor=look.ink,
                    hatch="|||" if many else look.hatch,
                    linewidth=1.2,
                )
            )
        if many:
            self.label(self.x(self.storage.nbytes / 2), middle, f"{len(view.runs)} pieces")
        elif math.prod(view.shape) <= PIECE_LIMIT:
            self.elements(view, middle)

    def elements(self, view: View, middle: float) -> None:
        """Borders between neighbouring elements, and their values where there is room."""
        width = view.itemsize * self.per_byte
        if width < 0.08:
            return
        for offset in set(view.offsets) - {start for start, _ in view.runs}:
            ends = (middle - BAR / 2, middle + BAR / 2)
            self.canvas.plot([self.x(offset)] * 2, ends, color=QUIET, linewidth=0.6)
        if not view.values or max(map(monospace_inches, view.values)) > width - 0.04:
            return
        for offset, value in dict(zip(view.offsets, view.values, strict=True)).items():
            self.label(self.x(offset) + width / 2, middle, value)

    def label(self, x: float, middle: float, text: str) -> None:
        """Text on a bar; on a patch of paper, because hatches run through letters."""
        paper = {"boxstyle": "round,pad=0.08", "facecolor": PAPER, "edgecolor": "none"}
        self.write(x, middle, text, ha="center", family=MONOSPACE, bbox=paper)

    def pending(self, use: PendingUse, middle: float) -> None:
        arrow = "▲" if use.verb == "reads" else "▼"
        for start, stop in use.runs[:PIECE_LIMIT]:
            ends = (self.x(start), self.x(stop))
            self.canvas.plot(ends, [middle] * 2, color=HAZARD, linewidth=2.5)
            self.write(sum(ends) / 2, middle, arrow, ha="center", color=HAZARD, size=11)
        place = use.queued_at  # the end of a path says more than its beginning
        room = NOTE_CHARACTERS - len("queued at ")
        note = "queued at " + (place if len(place) <= room else "…" + place[1 - room :])
        self.gutters(middle, f"{use.operation} {use.verb}", note, color=HAZARD)

    def axis(self, top: float) -> None:
        """Byte offsets under the band, at element borders where they do not crowd."""
        size = self.storage.nbytes
        step = min(view.itemsize for view in self.storage.views)
        room = monospace_inches(f"{size} ")
        while step * self.per_byte < max(room, 0.3) and step < size:
            step *= 2
        for offset in [*range(0, size - step // 2, step), size]:
            self.canvas.plot([self.x(offset)] * 2, [top, top + 0.05], color=QUIET, linewidth=0.8)
            text = {"ha": "center", "va": "top", "color": QUIET}
            self.write(self.x(offset), top + 0.06, str(offset), **text)
        self.write(LEFT - 0.1, top + 0.06, "byte", ha="right", va="top", color=QUIET)
