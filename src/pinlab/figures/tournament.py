"""Repair tournament: every repair against two readers, judged over all schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pinlab.figures.style import QUIET, SMALLEST, Drawing, house_style
from pinlab.figures.verdict_cell import verdict_cell
from pinlab.schedules import Report

WIDTH, ROW, HEAD, GAP = 7.5, 0.27, 0.42, 0.12  # inches
COLUMNS = {"repair": 0.15, "kind": 2.15, "device": 3.35, "late host": 5.45}  # left edges
MONOSPACE = "DejaVu Sans Mono"
LIMIT = 24  # rows


@dataclass(frozen=True)
class Judged:
    """One repair with the reports of two programs.

    Attributes:
        name, kind: as in `pinlab.serving.VARIANTS`.
        device: of a program in which the device reads the lengths.
        host: of a program in which the host reads them after their step.
    """

    name: str
    kind: str
    device: Report
    host: Report


@house_style
def tournament(judged: Sequence[Judged]) -> Drawing:
    """Draw the table: a row for each repair, a cell for each reader.

    Raises:
        ValueError: for no repair, or more than 24.
    """
    _check(judged)
    drawing = Drawing(width=WIDTH, height=GAP + HEAD + ROW * len(judged) + GAP)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH))
    axes.set_ylim(GAP + HEAD + ROW * len(judged) + GAP, 0)
    axes.set_axis_off()
    for title, left in COLUMNS.items():
        words = f"{title} reader" if title in ("device", "late host") else title
        axes.text(left, GAP + HEAD / 2, words, va="center", weight="bold")
    for index, entry in enumerate(judged):
        middle = GAP + HEAD + (index + 0.5) * ROW
        axes.text(COLUMNS["repair"], middle, entry.name, va="center", size=SMALLEST)
        axes.text(COLUMNS["kind"], middle, entry.kind, va="center", size=SMALLEST, color=QUIET)
        for title, report in (("device", entry.device), ("late host", entry.host)):
            at = COLUMNS[title], middle, (1.95, ROW)
            verdict_cell(axes, *at, report.correct, verdict(report))
    return drawing.described(twin=tournament_twin(judged), alt=tournament_alt(judged))


def tournament_twin(judged: Sequence[Judged]) -> list[str]:
    """One line for each repair."""
    _check(judged)
    wide = max(len(entry.name) for entry in judged)
    lines = [f"repair tournament: {len(judged)} repairs, judged over all schedules"]
    for entry in judged:
        device, host = verdict(entry.device), verdict(entry.host)
        lines.append(f"  {entry.name:{wide}}  {entry.kind:<10}  {device:<18}  {host}")
    return lines


def tournament_alt(judged: Sequence[Judged]) -> str:
    """One line: how many are right for whom."""
    _check(judged)
    device = sum(entry.device.correct for entry in judged)
    host = sum(entry.host.correct for entry in judged)
    return (
        f"Repair tournament of {len(judged)} repairs: {device} right for the device in every "
        f"schedule, {host} right for a late host reader."
    )


def verdict(report: Report) -> str:
    """What a cell says: right, or wrong and under which schedule."""
    return "✓ right" if report.correct else f"✗ wrong at {report.counterexample}"


def _check(judged: Sequence[Judged]) -> None:
    if not 1 <= len(judged) <= LIMIT:
        raise ValueError(f"a tournament shows 1 to {LIMIT} repairs, got {len(judged)}")
