"""The page of a timeline: where each lane, bar, mark and word of it lies.

Lengths are inches, y runs downwards. From top to bottom: flags, the host's lane, then for each
stream its copies and its kernels, the axis, the legend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pinlab.figures.chronicle import Chronicle
from pinlab.figures.flags import FLAG, Flag, heights, plain_inches
from pinlab.figures.moments import Mark, Span, Step
from pinlab.figures.style import (
    CUES,
    HAZARD,
    INK,
    Cue,
)
from pinlab.sim import Place

ROOMY = 12  # operations up to which each has a row with its name
FLAGS = 9  # flags up to which every mark is named; with more, only what is crossed out
WIDTH, LEFT, RIGHT = 7.5, 2.35, 1.45  # the figure, the gutters for names and for lines
ROW, DENSE, HOST, HEAD, GAP, AXIS, LEGEND = 0.30, 0.11, 0.36, 0.26, 0.08, 0.40, 0.22
NAME, LINE = 19, 16  # characters in the gutters
MONOSPACE = "DejaVu Sans Mono"
LOOKS: dict[str, Cue] = {"upload": CUES[0], "kernel": CUES[1], "download": CUES[2]}
LANES = {"copy": ("upload", "download"), "compute": ("kernel",)}
MARKERS = {"write": "D", "read": "o", "note": "s", "query": "p", "record": "^", "order": "^"}
CROSS = "✗"
WORDS = {
    "write": "host writes",
    "read": "host reads",
    "note": "note",
    "query": "query",
    "record": "event",
    "order": "event",
}


@dataclass
class Row:
    """A strip of the page with operations that do not overlap; ``lane`` is written before it."""

    top: float
    height: float
    lane: str
    spans: list[Span]
    stream: int = -1


class Page:
    """A chronicle laid out; `pen.drawn` draws it."""

    def __init__(self, told: Chronicle, in_time: bool) -> None:
        self.told, self.in_time = told, in_time
        self.roomy = len(told.operations) <= ROOMY
        self.cell = (WIDTH - LEFT - RIGHT) / len(told.steps)
        ended = told.run.ended - told.run.began  # nan while it still records
        self.total = max(told.steps[-1].time if math.isnan(ended) else ended, 1e-9)
        files = {step.place.file for step in told.steps if step.place}
        self.file = files.pop() if len(files) == 1 else ""
        self.flags = self._flags()
        self.levels = heights(self.flags)
        self.host = GAP + FLAG * (max(self.levels, default=-1) + 1)
        self.rows: list[Row] = []
        self.heads: list[tuple[float, int]] = []
        self.bottom = self._stack(self.host + HOST + GAP)
        self.legend = wrapped(self._legend())
        self.height = self.bottom + AXIS + LEGEND * len(self.legend) + GAP

    # -- where things lie -------------------------------------------------------------------------

    def at(self, step: Step) -> float:
        """The middle of a step's column, or the moment itself."""
        if self.in_time:
            return self.moment(step.time)
        return LEFT + (step.number - 0.5) * self.cell

    def moment(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, seconds / self.total))

    def reach(self, span: Span) -> tuple[float, float]:
        """From where it was opened to where it ended, or to the edge."""
        begin, _, end = span.times
        if self.in_time:
            return self.moment(begin), WIDTH - RIGHT if math.isnan(end) else self.moment(end)
        if span.ended is None:
            return self.at(span.opened), WIDTH - RIGHT
        half = self.cell / 2 if span.ended in (span.started, span.opened) else 0
        return self.at(span.opened), self.at(span.ended) + half

    def active(self, span: Span) -> tuple[float, float] | None:
        """Where it ran; None if it did not."""
        if span.started is None:
            return None
        _, end = self.reach(span)
        if self.in_time:
            return min(self.moment(span.times[1]), end - 0.03), end
        half = self.cell / 2 if span.started is span.ended else 0
        return self.at(span.started) - half, end

    def _stack(self, top: float) -> float:
        """Give every operation a row, lane by lane; return where the rows end."""
        for stream in self.told.streams:
            if len(self.told.streams) > 1:
                self.heads.append((top, stream))
                top += HEAD
            for lane, kinds in LANES.items():
                spans = [s for s in self.told.operations if s.stream == stream and s.kind in kinds]
                height = ROW if self.roomy else DENSE
                first = True
                packed = self._packed(spans)
                for together in packed:
                    self.rows.append(Row(top, height, lane if first else "", together, stream))
                    top, first = top + height, False
                if spans:  # at least as high as the lane's name
                    top += GAP + max(0.0, 0.2 - height * len(packed))
        return top

    def _packed(self, spans: list[Span]) -> list[list[Span]]:
        if self.roomy:
            return [[span] for span in spans]
        rows: list[list[Span]] = []
        for span in spans:
            begin = self.reach(span)[0]
            free = (row for row in rows if self.reach(row[-1])[1] <= begin)
            row = next(free, None)
            if row is None:
                rows.append([span])
            else:
                row.append(span)
        return rows

    # -- what is said -----------------------------------------------------------------------------

    def line(self, place: Place | None) -> str:
        if place is None:
            return ""
        text = f"line {place.lineno}" if self.file else str(place)
        return text if len(text) <= LINE else "…" + text[1 - LINE :]

    def _flags(self) -> list[Flag]:
        """One flag for marks that say the same, at the first of them."""
        same: dict[tuple[bool, str], list[Mark]] = {}
        for mark in sorted(self.told.marks, key=lambda mark: self.at(mark.step)):
            same.setdefault((mark.clash, self._said(mark)), []).append(mark)
        if len(same) > FLAGS:
            same = {key: marks for key, marks in same.items() if key[0]}
        flags = []
        for (clash, text), marks in list(same.items())[:FLAGS]:
            text += f", {len(marks)} times" if len(marks) > 1 else ""
            x = self.at(marks[0].step)
            while len(text) > 8 and x + 0.2 + plain_inches(text, clash) > WIDTH:
                text = text[:-2] + "…"
            flags.append(Flag(x, text, HAZARD if clash else INK, bold=clash))
        return flags

    def _said(self, mark: Mark) -> str:
        if mark.kind == "query":
            return f"{mark.label} is done"
        if mark.kind not in ("write", "read"):
            return mark.label
        name = mark.label if len(mark.label) <= NAME else mark.label[: NAME - 1] + "…"
        cross = f"{CROSS} " if mark.clash else ""
        return f"{cross}{mark.kind}s {name}, {self.line(mark.step.place)}"

    def _legend(self) -> list[tuple[str, str]]:
        told = self.told
        entries = [("flight", "queued, has yet to run"), ("run", "runs")]
        entries += [("wait", "host waits")] if told.waits else []
        entries += [("hold", "held")] if told.holds else []
        kinds = dict.fromkeys(mark.kind for mark in told.marks if not mark.clash)
        words = {WORDS[kind]: kind for kind in kinds}
        entries += [(kind, word) for word, kind in words.items()]
        if any(mark.clash for mark in told.marks):
            entries.append(("clash", "host access to bytes in flight"))
        return entries


def wrapped(entries: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The legend in rows that fit the page."""
    rows: list[list[tuple[str, str]]] = [[]]
    used = 0.0
    for entry in entries:
        width = 0.55 + plain_inches(entry[1])
        if used + width > WIDTH - 0.3 and rows[-1]:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += width
    return rows


def clipped(text: str) -> str:
    return text if len(text) <= LINE else "…" + text[1 - LINE :]
