"""Level 1: an upload from pinned memory, and a write behind it."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


def repaired() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.clone().to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


LEVEL = Level(
    id="which-value",
    title="Which value arrives?",
    program=program,
    repaired=repaired,
    goal=Goal.right(expect=[5, 7]),
    before="You are the scheduler. The host runs the program line by line; the device runs what "
    "is in its queue. Between two lines you decide who moves. Line 3 sends the row to the device, "
    "line 4 writes to the row.\n\n"
    "Play it once with the host alone. Then let the right value arrive.",
    after="Line 3 only queues the copy. The row is read when the device gets there, and until then "
    "it belongs to two.",
    belief="M3",
    hint="Watch the queue after line 3 has run, and the memory: who has what?",
    latest=[5, 40],
    early=[5, 7],
    token="h2.d1",
)
