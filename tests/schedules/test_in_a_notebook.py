"""The explorer inside an ipykernel: all cells count, and nothing is left in the outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels import run_cells

CELLS = [
    """\
import os
os.environ["OMP_NUM_THREADS"] = "1"
import torch
from pinlab.device import pick_device
from pinlab.schedules import explore, replay, grid
device = pick_device()""",
    """\
def write(row):
    row[0] = 6
    row[0] = 7""",
    """\
def program():
    row = torch.tensor([5], pin_memory=True)
    there = row.to(device, non_blocking=True)
    write(row)
    return there.tolist()""",
    """\
report = explore(program, expect=[5])
print(*sorted(map(str, report.outcomes)))
print(report.total, report.complete, str(report).splitlines()[3].strip())""",
    """\
seen = grid(report)
for row in seen.rows[-3:]:
    print(row, row.place, row.place and row.place.source, row.function)""",
    "report",
    'replay(program, "h2.d1")',
]


@pytest.mark.slow
def test_a_search_in_a_cell_steps_through_helpers_of_other_cells(tmp_path: Path) -> None:
    outputs = [cell.outputs for cell in run_cells(CELLS, tmp_path)]
    assert outputs[3][0]["text"].splitlines() == [
        "[5] [6] [7]",
        "5 True host lines  those of this notebook's cells; other code is one step per call",
    ]
    assert outputs[4][0]["text"].splitlines() == [
        "3 In [2]:3 row[0] = 7 write",
        "5 In [3]:5 return there.tolist() program",
        "end None None ",
    ]
    assert "<b>program: 3 different outcomes</b>" in outputs[5][0]["data"]["text/html"]
    assert outputs[6][0]["data"]["text/plain"] == "[5]"
    assert [len(output) for output in outputs] == [0, 0, 0, 1, 1, 1, 1]
