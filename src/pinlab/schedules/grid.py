"""What if this operation ran just before that line? Every operation against every host line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pinlab.schedules.execution import Execution
from pinlab.schedules.history import Queued
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.steps import Step
from pinlab.schedules.values import Outcome
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place

MAX_CELLS = 5_000  # each cell is one execution


@dataclass(frozen=True)
class Row:
    """A moment of the host: just before a line, or within it.

    Attributes:
        position: (host lines passed, moments within the line: 0 is "before the line").
        place: file, number and text (`place.source`) of the line; None for the last row, where the
            program has returned and its value is about to be read.
        function: the name of the function that the line is in.
    """

    position: Position
    place: Place | None
    function: str

    def __str__(self) -> str:
        if self.place is None:
            return "end"
        within = f"+{self.position[1]}" if self.position[1] else ""
        return f"{self.place.lineno}{within}"


@dataclass(frozen=True)
class Column:
    """An operation that could run at two moments or more.

    Attributes:
        number: which one, in order of submission over all streams, from 0.
        name, kind: the operation's, e.g. ``"upload"``. stream: its stream's number.
        queued_at: the line that queued it.
        forced_at: the position of the line whose wait makes it run; None if it is never waited for.
    """

    number: int
    name: str
    kind: str
    stream: int
    queued_at: Place
    forced_at: Position | None


@dataclass(frozen=True)
class Cell:
    """One execution: the operation and what must precede it run here, the rest as late as it can.

    `schedule` replays it.
    """

    schedule: Schedule
    outcome: Outcome


class Grid:
    """Outcomes by operation and host moment.

    Attributes:
        rows: the moments of the latest schedule, in order (a line in a loop has several).
        columns: operations, in order of submission.
        cells: ``cells[row, column]``, by index; missing where the operation cannot run there: it is
            not queued yet, blocked, or already done because the host waited for it.
        latest: the outcome if nothing runs before the host waits.
        in_order: the outcome if each operation runs at submission.
        reference: what is right: the expected value, or without one, `in_order`.
    """

    def __init__(
        self,
        rows: list[Row],
        columns: list[Column],
        cells: dict[tuple[int, int], Cell],
        latest: Outcome,
        in_order: Outcome,
        reference: Outcome,
    ) -> None:
        self.rows = rows
        self.columns = columns
        self.cells = cells
        self.latest = latest
        self.in_order = in_order
        self.reference = reference

    @property
    def outcomes(self) -> list[Outcome]:
        """Distinct outcomes: the reference first, then in order of appearance."""
        found = [self.reference, *(cell.outcome for cell in self.cells.values()), self.latest]
        return list(dict.fromkeys(found))

    def column(self, index: int) -> Iterator[tuple[Row, Cell | None]]:
        """All rows with the cell of one operation."""
        for at, row in enumerate(self.rows):
            yield row, self.cells.get((at, index))

    def __repr__(self) -> str:
        return (
            f"<grid: {len(self.rows)} moments × {len(self.columns)} operations, "
            f"{len(self.outcomes)} outcomes>"
        )


def grid(report: Report, keep: Callable[[Column], bool] = lambda column: True) -> Grid:
    """Run the report's program once for each operation and host moment.

    Args:
        report: of `explore`; its pieces, granularity and traced modules count here too.
        keep: which operations get a column, e.g. ``lambda column: column.kind == "upload"``.

    Raises:
        ValueError: if that would take more than 5,000 executions; `keep` fewer operations.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> from pinlab.schedules import explore
    >>> device = pick_device()
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> seen = grid(explore(program))
    >>> [(str(row), cell and cell.outcome) for row, cell in seen.column(0)]
    [('2', None), ('3', None), ('4', [5, 7]), ('5', [5, 40]), ('end', None)]
    """
    runner = report.runner
    with runner:
        latest, execution = runner.run(Schedule(), find=False, log=True)
        rows = _rows(execution)
        kept = [(c, q) for c, q in _columns(execution) if keep(c)]
        plans = _plans(execution, [queued for _, queued in kept])
        if len(plans) > MAX_CELLS:
            raise ValueError(f"{len(plans)} cells; a grid has at most {MAX_CELLS}, keep fewer")
        cells = {at: _cell(runner, plan) for at, plan in plans.items()}
        in_order = runner.run_at_submission()
    reference = report.reference if report.expected else in_order
    return Grid(rows, [column for column, _ in kept], cells, latest, in_order, reference)


def _cell(runner: Runner, schedule: Schedule) -> Cell:
    outcome, _ = runner.run(schedule, find=False)
    return Cell(schedule.of(runner), outcome)


def _moments(execution: Execution) -> list[Any]:
    return [moment for moment in execution.history.positions if moment.opened]


def _rows(execution: Execution) -> list[Row]:
    lines: dict[int, Step] = {
        step.position[0]: step for step in execution.log or () if step.is_host
    }
    rows = []
    for moment in _moments(execution):
        line = lines.get(moment.position[0])
        rows.append(Row(moment.position, line.place if line else None, line.name if line else ""))
    return rows


def _columns(execution: Execution) -> Iterator[tuple[Column, Queued]]:
    ran = {step.number: step.position for step in execution.log or ()}
    end = (execution.line, 0)  # what runs only here, nobody waited for
    queues = execution.history.queues
    for queued in sorted((q for queue in queues for q in queue), key=lambda q: q.number):
        operation: Operation = queued.operation
        forced_at = ran.get(queued.number, end)
        column = Column(
            queued.number,
            operation.name,
            operation.kind,
            queued.stream,
            operation.queued_at,
            forced_at if forced_at < end else None,
        )
        if any(True for _ in _chains(execution, queued)):
            yield column, queued


def _chains(execution: Execution, queued: Queued) -> Iterator[tuple[int, Schedule]]:
    """Row and schedule of each moment at which the operation can run."""
    history = execution.history
    wanted = queued.first + queued.pieces
    for row, moment in enumerate(_moments(execution)):
        chain = history.chain(moment.state, queued.stream, wanted, moment.position)
        if chain:
            yield row, Schedule().with_steps(moment.position, chain)


def _plans(execution: Execution, kept: list[Queued]) -> dict[tuple[int, int], Schedule]:
    return {
        (row, column): schedule
        for column, queued in enumerate(kept)
        for row, schedule in _chains(execution, queued)
    }
