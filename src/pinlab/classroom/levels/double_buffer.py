"""Level 8: two buffers in turn; right if nobody gets two batches ahead."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    pair = torch.zeros(2, 1, dtype=torch.int64, pin_memory=True)
    sent = []
    for batch in range(4):
        staging = pair[batch % 2]
        staging.fill_(batch)
        sent.append(staging.to("sim", non_blocking=True))
    return torch.cat(sent).tolist()


def repaired() -> list[int]:
    gpu = torch.get_device_module("sim")
    copied = [gpu.Event(), gpu.Event()]
    pair = torch.zeros(2, 1, dtype=torch.int64, pin_memory=True)
    sent = []
    for batch in range(4):
        copied[batch % 2].synchronize()
        staging = pair[batch % 2]
        staging.fill_(batch)
        sent.append(staging.to("sim", non_blocking=True))
        copied[batch % 2].record()
    return torch.cat(sent).tolist()


LEVEL = Level(
    id="double-buffer",
    title="Double buffering",
    program=program,
    repaired=repaired,
    goal=Goal.value([0, 3, 2, 3], expect=[0, 1, 2, 3]),
    before="Two buffers take turns, so the batch that is being sent is not the one that is being "
    "written. With four batches each buffer is used twice.\n\n"
    "Make batch 0 arrive right and batch 1 wrong.",
    after="Two buffers move the deadline by one batch; they do not remove it. The repaired program "
    "waits for the one event that belongs to the buffer it is about to rewrite, and so the host "
    "may still be a batch ahead.",
    belief="M11",
    hint="Copies of one stream run in order. By when must the first one have run, and from when on "
    "may the second?",
    latest=[2, 3, 2, 3],
    early=[0, 1, 2, 3],
    token="h11.d1",
)
