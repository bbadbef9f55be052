"""Level 4: the same race the other way round; the host reads while the device has yet to write."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[list[float]]:
    scores = torch.tensor([0.5, 0.25]).to("sim")
    out = torch.zeros(2, pin_memory=True)
    out.copy_(scores, non_blocking=True)
    first = out.tolist()
    second = out.tolist()
    return [first, second]


def repaired() -> list[list[float]]:
    scores = torch.tensor([0.5, 0.25]).to("sim")
    out = torch.zeros(2, pin_memory=True)
    out.copy_(scores, non_blocking=True)
    torch.get_device_module("sim").synchronize()
    first = out.tolist()
    second = out.tolist()
    return [first, second]


LEVEL = Level(
    id="mirror",
    title="The mirror",
    program=program,
    repaired=repaired,
    goal=Goal.value([[0.0, 0.0], [0.5, 0.25]], expect=[[0.5, 0.25], [0.5, 0.25]]),
    before="Now the device writes and the host reads: line 4 fetches the scores into pinned "
    "memory, lines 5 and 6 look at them, twice.\n\n"
    "Make the first look see nothing and the second one everything.",
    after="A download into pinned memory has returned long before it is done. Reading leaves no "
    "trace in the bytes, so nothing on the host could have noticed.",
    belief="M3",
    hint="The copy has to run after one of the looks and before the other.",
    latest=[[0.0, 0.0], [0.0, 0.0]],
    early=[[0.5, 0.25], [0.5, 0.25]],
    token="h4.d1",
)
