"""Outcomes by operation and line: each cell is a run, and its token replays it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from pinlab import schedules
from pinlab.schedules import Raised, explore, grid, replay

from . import helpers_elsewhere as elsewhere


def ring() -> Any:
    row = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    there = torch.zeros(2, dtype=torch.int64, device="sim")
    torch.get_device_module("sim").synchronize()
    row[0] = 1
    there[:1].copy_(row, non_blocking=True)
    row[0] = 2
    there[1:].copy_(row, non_blocking=True)
    row[0] = 3
    return there.tolist()


def test_one_operation_at_a_time_waits_and_the_others_run_at_once() -> None:
    seen = grid(explore(ring, expect=[1, 2]), keep=lambda column: column.kind == "upload")
    assert [column.queued_at.source for column in seen.columns] == [
        "there[:1].copy_(row, non_blocking=True)",
        "there[1:].copy_(row, non_blocking=True)",
    ]
    first, second = (
        {row.place.source: cell.outcome.value for row, cell in seen.column(n) if cell and row.place}
        for n in (0, 1)
    )
    assert first == {
        "row[0] = 2": [1, 2],
        "there[1:].copy_(row, non_blocking=True)": [2, 2],
        "row[0] = 3": [2, 2],
        "return there.tolist()": [3, 3],
    }
    assert second == {"row[0] = 3": [1, 2], "return there.tolist()": [1, 3]}
    assert seen.in_order.value == seen.reference.value == [1, 2]
    assert seen.latest.value == [3, 3]
    assert [outcome.value for outcome in seen.outcomes] == [[1, 2], [2, 2], [3, 3], [1, 3]]


def test_each_cell_replays() -> None:
    seen = grid(explore(ring))
    assert seen.cells
    for cell in seen.cells.values():
        assert replay(ring, cell.schedule) == cell.outcome.value
        assert cell.schedule.steps_taken()


def test_the_rows_are_the_host_lines_and_the_end() -> None:
    seen = grid(explore(ring))
    assert [row.place.source if row.place else str(row) for row in seen.rows] == [
        "row = torch.zeros(1, dtype=torch.int64, pin_memory=True)",
        'there = torch.zeros(2, dtype=torch.int64, device="sim")',
        'torch.get_device_module("sim").synchronize()',
        "row[0] = 1",
        "there[:1].copy_(row, non_blocking=True)",
        "row[0] = 2",
        "there[1:].copy_(row, non_blocking=True)",
        "row[0] = 3",
        "return there.tolist()",
        "end",
    ]
    assert {row.function for row in seen.rows} == {"ring", ""}
    assert "10 moments × 3 operations" in repr(seen)


def test_a_moment_within_a_line_has_a_row_of_its_own() -> None:
    def program() -> Any:
        row = torch.tensor([5], pin_memory=True)
        there = elsewhere.upload_and_rewrite(row, 40)
        return there.tolist()

    seen = grid(explore(program))
    (index,) = range(len(seen.columns))
    cells = {str(row): cell.outcome.value for row, cell in seen.column(index) if cell}
    line = program.__code__.co_firstlineno
    assert cells == {f"{line + 2}+1": [5], f"{line + 3}": [40]}


def test_lines_that_only_other_schedules_reach_have_no_cell() -> None:
    def program() -> Any:
        row = torch.tensor([5], pin_memory=True)
        there = row.to("sim", non_blocking=True)
        event = torch.get_device_module("sim").current_stream().record_event()
        if event.query():
            row[0] = 6
            return "early"
        row[0] = 7
        return there.tolist()

    seen = grid(explore(program))
    cells = {row.place.source: cell.outcome.value for row, cell in seen.column(0)
             if cell and row.place}  # fmt: skip
    assert cells["if event.query():"] == "early"
    assert "row[0] = 6" not in cells
    assert "row[0] = 7" not in cells  # the rows are those of the in-order run


def test_outcomes_of_any_kind_and_torn_copies() -> None:
    def program() -> Any:
        landing = torch.zeros(2, dtype=torch.int64, pin_memory=True)
        landing.copy_(torch.ones(2, dtype=torch.int64, device="sim"), non_blocking=True)
        if not landing.sum():
            raise ValueError("empty")
        return int(landing.sum())

    seen = grid(explore(program, pieces=2))
    values = [outcome.value for outcome in seen.outcomes]
    assert Raised(ValueError, "empty") in values
    assert 2 in values


def test_a_grid_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    report = explore(ring)
    module = sys.modules["pinlab.schedules.grid"]
    monkeypatch.setattr(module, "MAX_CELLS", 10)
    with pytest.raises(ValueError, match="4 operations × 10 moments; a grid has at most 10 cells"):
        schedules.grid(report)
