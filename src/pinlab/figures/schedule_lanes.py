"""Schedule lanes: one schedule from top to bottom, the host's lines left, the device's work right.

Steps are numbered in the order in which they happened. An operation has a thin line from the row
of the host line that queued it down to the row where it ran: that long its bytes were in flight.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinlab.figures.style import (
    GRID,
    PAPER,
    QUIET,
    SMALLEST,
    Drawing,
    cue,
    house_style,
    mixed,
    monospace_inches,
)
from pinlab.schedules import Schedule
from pinlab.schedules.steps import Step

STEP_LIMIT = 90  # rows; more do not fit on a page
WIDTH, NUMBER, GAP, HEAD, ROW = 7.5, 0.5, 0.12, 0.34, 0.225  # inches
SOURCE = 46  # characters
MONOSPACE = "DejaVu Sans Mono"
LANE = 2.1  # inches of a device lane, at most


@house_style
def schedule_lanes(schedule: Schedule) -> Drawing:
    """Draw one schedule of a report, e.g. ``schedule_lanes(report.counterexample)``.

    Raises:
        ValueError: for a schedule without a program, or with more than 90 steps.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> from pinlab.schedules import explore
    >>> device = pick_device()
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> schedule_lanes(explore(program, expect=[5, 7]).counterexample).alt
    'Schedule h in 6 steps: 4 host lines, 2 device steps, of which 2 because the host waits.'
    """
    steps = _steps(schedule)
    page = _Page(steps)
    drawing = Drawing(width=WIDTH, height=page.height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(page.height, 0))  # y runs down
    axes.set_axis_off()
    page.draw(axes, schedule)
    return drawing.described(twin=schedule_lanes_twin(schedule), alt=schedule_lanes_alt(schedule))


def schedule_lanes_twin(schedule: Schedule) -> list[str]:
    """The steps in order, one a line."""
    steps = _steps(schedule)
    lines = [f"schedule {schedule}: {len(steps)} steps"]
    for number, step in enumerate(steps, 1):
        if step.is_host:
            lines.append(f"{number:3}  host      {step.place.lineno:>4} | {step.place.source}")
        else:
            lines.append(f"{number:3}  {step.lane}         > {_label(step)}{_why(step)}")
    return lines


def schedule_lanes_alt(schedule: Schedule) -> str:
    """One line: how many steps of whom."""
    steps = _steps(schedule)
    host = sum(step.is_host for step in steps)
    forced = sum(step.forced for step in steps)
    device = len(steps) - host
    return (
        f"Schedule {schedule} in {len(steps)} steps: {host} host lines, {device} device "
        f"step{'s' * (device != 1)}, of which {forced} because the host waits."
    )


def _steps(schedule: Schedule) -> list[Step]:
    steps = schedule.steps_taken()
    if not 1 <= len(steps) <= STEP_LIMIT:
        raise ValueError(f"schedule lanes show 1 to {STEP_LIMIT} steps, got {len(steps)}")
    return steps


def _label(step: Step) -> str:
    name = step.name.removeprefix("aten.").split(".")[0]
    part = f" {step.piece}/{step.pieces}" if step.pieces > 1 else ""
    return f"{name}{part} of line {step.place.lineno}"


def _why(step: Step) -> str:
    return ", the host waits" if step.forced else ""


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


class _Page:
    """Lays the steps out in rows, y downwards, and draws them."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.lanes = sorted({step.stream for step in steps if step.stream is not None})
        source = max((len(s.place.source) for s in steps if s.is_host), default=8)
        wide = monospace_inches("x" * (min(source, SOURCE) + 6), SMALLEST)
        self.left = NUMBER + min(wide, WIDTH - NUMBER - 1.7) + 0.15
        room = WIDTH - self.left - 0.1
        self.lane = min(LANE, room / max(1, len(self.lanes)))
        self.height = GAP + HEAD + ROW * len(steps) + HEAD

    def x(self, stream: int) -> float:
        """The left edge of a stream's lane."""
        return self.left + self.lanes.index(stream) * self.lane

    def y(self, index: int) -> float:
        """The middle of a row."""
        return GAP + HEAD + (index + 0.5) * ROW

    def draw(self, axes: Axes, schedule: Schedule) -> None:
        self.axes = axes
        self._write(NUMBER, GAP + HEAD / 2, "host", weight="bold")
        for stream in self.lanes:
            self._lane(stream)
        for index, step in enumerate(self.steps):
            self._write(NUMBER - 0.1, self.y(index), str(index + 1), ha="right", color=QUIET)
            if step.is_host:
                text = f"{step.place.lineno:>4}  {_clipped(step.place.source, SOURCE)}"
                self._write(NUMBER, self.y(index), text, family=MONOSPACE)
            else:
                self._device(index, step)
        below = self.y(len(self.steps) - 1) + ROW / 2 + HEAD / 2
        note = f"schedule {schedule}    dashed: it ran because the host waited for it"
        self._write(NUMBER, below, note, color=QUIET)

    def _write(self, x: float, y: float, text: str, **look: Any) -> None:
        self.axes.text(x, y, text, **{"va": "center", "size": SMALLEST, **look})

    def _lane(self, stream: int) -> None:
        left = self.x(stream)
        band: dict[str, Any] = {"facecolor": mixed(GRID, PAPER, 0.3), "edgecolor": "none"}
        tall = ROW * len(self.steps)
        self.axes.add_patch(Rectangle((left, GAP + HEAD), self.lane - 0.08, tall, **band))
        name = "device" if len(self.lanes) == 1 else f"stream {stream}"
        self._write(left + 0.05, GAP + HEAD / 2, name, weight="bold")

    def _device(self, index: int, step: Step) -> None:
        assert step.stream is not None
        left, middle = self.x(step.stream), self.y(index)
        look = cue(0 if step.kind == "upload" else 2 if step.kind == "download" else 1)
        queued = self._queued_row(index, step)
        if queued is not None and index - queued > 1:
            x = left + 0.07 + 0.05 * ((step.number or 0) % 4)
            ends = [self.y(queued) + ROW / 2, middle]
            self.axes.plot([x, x], ends, color=look.ink, linewidth=1.6, linestyle=look.line)
        box: dict[str, Any] = {
            "facecolor": look.tint,
            "edgecolor": look.ink,
            "hatch": look.hatch,
            "linestyle": "--" if step.forced else "-",
        }
        inside = (left + 0.04, middle - ROW * 0.42)
        self.axes.add_patch(Rectangle(inside, self.lane - 0.16, ROW * 0.84, zorder=2, **box))
        room = int((self.lane - 0.3) / 0.088)
        plate = {"boxstyle": "round,pad=0.05", "facecolor": look.tint, "edgecolor": "none"}
        label = _label(step) if len(_label(step)) <= room else _label(step).replace(" of line", "")
        text = _clipped(label, room)
        self._write(left + 0.12, middle, text, bbox=plate, zorder=3)

    def _queued_row(self, index: int, step: Step) -> int | None:
        """The last row before `index` with the line that queued the operation."""
        for row in range(index - 1, -1, -1):
            other = self.steps[row]
            if other.is_host and other.place == step.place:
                return row
        return None
