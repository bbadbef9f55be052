"""Level 3: a copy is not one step; key x takes it apart."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    row = torch.tensor([1, 1], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row.fill_(2)
    return lens.tolist()


def repaired() -> list[int]:
    row = torch.tensor([1, 1], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    torch.get_device_module("sim").synchronize()
    row.fill_(2)
    return lens.tolist()


LEVEL = Level(
    id="torn-copy",
    title="The torn copy",
    program=program,
    repaired=repaired,
    goal=Goal.value([1, 2], expect=[1, 1]),
    before="Line 4 rewrites the whole row at once. So the device gets the old row or the new one, "
    "one would think.\n\n"
    "Make it get a row that never was. A copy of many bytes takes time; nobody promises that they "
    "are read at one moment. Expand the copy into its parts.",
    after="The device holds one half from before the write and one from after it. On a real device "
    "the cut can be anywhere; the game cuts a copy into equal parts.",
    belief="M14",
    hint="After key x, one device step moves a part of the copy.",
    latest=[2, 2],
    early=[1, 1],
    token="h2.d1",
    torn=True,
)
