"""Attack table: designs of a buffer against programs that misuse it, over all schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinlab.figures.style import SMALLEST, Drawing, house_style
from pinlab.figures.verdict_cell import verdict_cell
from pinlab.schedules import Report

WIDTH, ROW, HEAD, GAP = 7.5, 0.28, 0.45, 0.12  # inches
NAME, FIRST, CELL, COUNTS = 0.15, 2.2, 1.12, (5.75, 6.45)  # left edges; a cell's width
LIMIT = 24  # rows
ATTACKS = 3


@dataclass(frozen=True)
class Tried:
    """One design under attack, and what its honest use costs.

    Attributes:
        name: of the design.
        reports: attack → what came out over all schedules; three attacks.
        waits: how often the host waited in some honest steps.
        copied: bytes that the host copied in them.
    """

    name: str
    reports: Mapping[str, Report]
    waits: int
    copied: int

    @property
    def holds(self) -> bool:
        """Whether no attack has success in any schedule."""
        return all(report.correct for report in self.reports.values())


@house_style
def attack_table(tried: Sequence[Tried]) -> Drawing:
    """Draw the table: a row for each design, a cell for each attack, two counts.

    Raises:
        ValueError: for no design or more than 24, or if they were not attacked alike.
    """
    attacks = _attacks(tried)
    drawing = Drawing(width=WIDTH, height=GAP + HEAD + ROW * len(tried) + GAP)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH))
    axes.set_ylim(GAP + HEAD + ROW * len(tried) + GAP, 0)
    axes.set_axis_off()
    heads = [(NAME, "design")]
    heads += [(FIRST + CELL * column, attack) for column, attack in enumerate(attacks)]
    heads += list(zip(COUNTS, ("waits", "bytes\ncopied"), strict=True))
    for left, words in heads:
        axes.text(left, GAP + HEAD / 2, words, va="center", weight="bold")
    for index, design in enumerate(tried):
        middle = GAP + HEAD + (index + 0.5) * ROW
        axes.text(NAME, middle, design.name, va="center", size=SMALLEST)
        for column, attack in enumerate(attacks):
            at = FIRST + CELL * column, middle, (CELL - 0.08, ROW)
            report = design.reports[attack]
            verdict_cell(axes, *at, report.correct, verdict(report))
        for left, count in zip(COUNTS, (design.waits, design.copied), strict=True):
            axes.text(left, middle, f"{count:,}", va="center", size=SMALLEST)
    return drawing.described(twin=attack_table_twin(tried), alt=attack_table_alt(tried))


def attack_table_twin(tried: Sequence[Tried]) -> list[str]:
    """One line for each design."""
    attacks = _attacks(tried)
    wide = max(len(design.name) for design in tried)
    heads = "".join(f"{attack:<14}" for attack in attacks)
    lines = [
        f"attack table: {len(tried)} designs, {len(attacks)} attacks, over all schedules",
        f"  {'':{wide}}  {heads}waits  bytes copied",
    ]
    for design in tried:
        cells = "".join(f"{verdict(design.reports[attack]):<14}" for attack in attacks)
        lines.append(f"  {design.name:{wide}}  {cells}{design.waits:>5}  {design.copied:>12,}")
    return lines


def attack_table_alt(tried: Sequence[Tried]) -> str:
    """One line: which designs hold."""
    attacks = _attacks(tried)
    holding = [design.name for design in tried if design.holds]
    return (
        f"Attack table of {len(tried)} designs against {', '.join(attacks)}: "
        f"{len(holding)} hold in every schedule ({', '.join(holding) or 'none'})."
    )


def verdict(report: Report) -> str:
    """What a cell says: held, or broken under which schedule."""
    return "✓ held" if report.correct else f"✗ at {report.counterexample}"


def _attacks(tried: Sequence[Tried]) -> list[str]:
    if not 1 <= len(tried) <= LIMIT:
        raise ValueError(f"an attack table shows 1 to {LIMIT} designs, got {len(tried)}")
    attacks = list(tried[0].reports)
    for design in tried:
        if list(design.reports) != attacks or len(attacks) != ATTACKS:
            raise ValueError(
                f"{design.name!r} was attacked by {list(design.reports)}; a table needs the same "
                f"{ATTACKS} attacks for all, here {attacks}"
            )
    return attacks
