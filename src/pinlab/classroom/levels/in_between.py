"""Level 2: a value that is in the buffer for a moment only."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    row = torch.tensor([5, 7, 9], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 0  # leave this one out ...
    total = int(row.sum())
    row[1] = 7  # ... and put it back
    return [*lens.tolist(), total]


def repaired() -> list[int]:
    row = torch.tensor([5, 7, 9], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    scratch = row.clone()
    scratch[1] = 0
    total = int(scratch.sum())
    return [*lens.tolist(), total]


LEVEL = Level(
    id="in-between",
    title="The value in between",
    program=program,
    repaired=repaired,
    goal=Goal.wrong(expect=[5, 7, 9, 14]),
    before="The host borrows the row: it blanks an entry, adds up the rest, and puts the entry "
    "back. At the end the row holds what it held at the beginning.\n\n"
    "Both plain schedules give the right result here, so a test that tries these two is green. "
    "Find one that is red.",
    after="A buffer in use must not be changed, not even for a moment. Two schedules that pass, "
    "the earliest and the latest, say nothing about those in between.",
    belief="M8",
    hint="When does the row hold something else than at the start?",
    latest=[5, 7, 9, 14],
    early=[5, 7, 9, 14],
    token="h3.d1",
)
