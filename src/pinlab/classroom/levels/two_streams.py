"""Level 9: one stream hands over to another; no event orders them."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    gpu = torch.get_device_module("sim")
    side = gpu.Stream()
    lens = torch.zeros(2, dtype=torch.int64).to("sim")
    row = torch.tensor([5, 7], pin_memory=True)
    lens.copy_(row, non_blocking=True)
    with gpu.stream(side):
        doubled = lens * 2
    gpu.synchronize()
    return doubled.tolist()


def repaired() -> list[int]:
    gpu = torch.get_device_module("sim")
    side = gpu.Stream()
    lens = torch.zeros(2, dtype=torch.int64).to("sim")
    row = torch.tensor([5, 7], pin_memory=True)
    lens.copy_(row, non_blocking=True)
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        doubled = lens * 2
    gpu.synchronize()
    return doubled.tolist()


LEVEL = Level(
    id="two-streams",
    title="The hand-over",
    program=program,
    repaired=repaired,
    goal=Goal.wrong(expect=[10, 14]),
    before="The default stream sends the row, a side stream doubles it. The host writes nothing "
    "after the copy, and it waits for the whole device at the end.\n\n"
    "Both plain schedules give the right result. Break it: now there are two queues, and you "
    "choose which one moves.",
    after="A stream keeps its own order and nobody else's. The wait at the end comes too late: by "
    "then both have run, in whatever order. In the repaired program the side stream waits for "
    "what the other has queued, on the device, while the host goes on.",
    belief="M7",
    hint="Keys d and 1 step the two streams. Which of them ought to wait for the other?",
    latest=[10, 14],
    early=[10, 14],
    token="h8.s1d1",
)
