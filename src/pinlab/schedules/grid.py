"""What if this operation ran just before that line? Every operation against every host line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pinlab.schedules.execution import Execution
from pinlab.schedules.queued import Queued
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.values import Outcome
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
    """An operation that could run at some moment without being waited for.

    Attributes:
        number: which one, in order of submission over all streams, from 0.
        name, kind: the operation's, e.g. ``"upload"``. stream: its stream's number.
        queued_at: the line that queued it.
    """

    number: int
    name: str
    kind: str
    stream: int
    queued_at: Place


@dataclass(frozen=True)
class Cell:
    """One execution, in which the operation ran at this moment. `schedule` replays it."""

    schedule: Schedule
    outcome: Outcome


class Grid:
    """Outcomes by operation and host moment.

    Attributes:
        rows: the moments of the in-order schedule, one by one (a line in a loop has several).
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

    In each run that operation waits for that moment, with all that must follow it; every other
    operation runs as soon as it is queued. So a cell that differs from `in_order` blames it alone.

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
        latest, _ = runner.run(Schedule())
        in_order, execution = runner.run_early()
        rows = _rows(execution)
        queues = execution.history.queues
        queued = sorted((q for queue in queues for q in queue), key=lambda q: q.number)
        kept = [(column, _Column(runner, rows, q)) for q in queued if keep(column := _column(q))]
        if len(kept) * len(rows) > MAX_CELLS:
            size = f"{len(kept)} operations × {len(rows)} moments"
            raise ValueError(f"{size}; a grid has at most {MAX_CELLS:,} cells, keep fewer")
        found = [(column, dict(runs.cells())) for column, runs in kept]
    shown = [(column, cells) for column, cells in found if len(cells)]
    table = {(row, at): cell for at, (_, cells) in enumerate(shown) for row, cell in cells.items()}
    reference = report.reference if report.expected else in_order
    return Grid(rows, [column for column, _ in shown], table, latest, in_order, reference)


def _rows(execution: Execution) -> list[Row]:
    lines = {step.position[0]: step for step in execution.log or () if step.is_host}
    rows = []
    for moment in execution.history.moments:
        line = lines.get(moment.position[0])
        if moment.opened and line is not None:
            rows.append(Row(moment.position, line.place, line.name))
        elif moment.opened:
            rows.append(Row(moment.position, None, ""))
    return rows


def _column(queued: Queued) -> Column:
    operation = queued.operation
    place = operation.queued_at
    return Column(queued.number, operation.name, operation.kind, queued.stream, place)


class _Column:
    """The executions of one column."""

    def __init__(self, runner: Runner, rows: list[Row], queued: Queued) -> None:
        self.runner = runner
        self.rows = rows
        self.queued = queued

    def cells(self) -> Iterator[tuple[int, Cell]]:
        """Row number and cell, wherever the operation can wait so long, but no longer."""
        for at, row in enumerate(self.rows):
            if row.position <= self.queued.position:
                continue
            outcome, execution = self.runner.run_early((self.queued.number, row.position))
            steps = [s for s in execution.log or () if s.number == self.queued.number]
            if not steps or steps[0].position < row.position:
                return  # the host waited for it before
            if steps[0].position == row.position and not steps[0].forced and _is(execution, row):
                plan = execution.history.plan()
                yield at, Cell(Schedule(plan).of(self.runner), outcome)


def _is(execution: Execution, row: Row) -> bool:
    """Whether the execution's line at the row's position is the row's line."""
    lines = [s.place for s in execution.log or () if s.is_host and s.position[0] == row.position[0]]
    return (lines[0] if lines else None) == row.place
