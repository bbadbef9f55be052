"""Level 6: there is an event, and a wait for it, and both stand in the wrong place."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[list[int]]:
    taken = torch.get_device_module("sim").Event()
    row = torch.tensor([5, 7], pin_memory=True)
    first = row.to("sim", non_blocking=True)
    taken.record()
    row[0] = 50
    second = row.to("sim", non_blocking=True)
    taken.synchronize()
    row[1] = 70
    return [first.tolist(), second.tolist()]


def repaired() -> list[list[int]]:
    taken = torch.get_device_module("sim").Event()
    row = torch.tensor([5, 7], pin_memory=True)
    first = row.to("sim", non_blocking=True)
    taken.record()
    taken.synchronize()
    row[0] = 50
    second = row.to("sim", non_blocking=True)
    taken.record()
    taken.synchronize()
    row[1] = 70
    return [first.tolist(), second.tolist()]


LEVEL = Level(
    id="wrong-place",
    title="A wait in the wrong place",
    program=program,
    repaired=repaired,
    goal=Goal.value([[50, 7], [50, 7]], expect=[[5, 7], [50, 7]]),
    before="Somebody has heard of events: line 5 records one, line 8 waits for it. Two batches "
    "are sent from one row, and each time the row is then rewritten.\n\n"
    "Make the first batch arrive wrong and the second one right.",
    after="A wait protects what was queued before its event was recorded, and only against writes "
    "that come after the wait. Here the first write stands before the wait, and the second copy "
    "behind the record.",
    belief="M11",
    hint="Take each copy by itself: after which line may it run at the latest, and what is in the "
    "row there?",
    latest=[[50, 7], [50, 70]],
    early=[[5, 7], [50, 7]],
    token="h6.d2",
)
