"""Level 7: one staging buffer for all batches."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    staging = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    sent = []
    for batch in (1, 2, 3):
        staging.fill_(batch)
        sent.append(staging.to("sim", non_blocking=True))
    return torch.cat(sent).tolist()


def repaired() -> list[int]:
    copied = torch.get_device_module("sim").Event()
    staging = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    sent = []
    for batch in (1, 2, 3):
        copied.synchronize()
        staging.fill_(batch)
        sent.append(staging.to("sim", non_blocking=True))
        copied.record()
    return torch.cat(sent).tolist()


LEVEL = Level(
    id="ring-of-one",
    title="One buffer for all",
    program=program,
    repaired=repaired,
    goal=Goal.value([2, 2, 3], expect=[1, 2, 3]),
    before="Three batches go through one staging buffer. Each is written, sent, and the next one "
    "follows; nobody waits.\n\n"
    "Make batch 2 arrive twice, and batch 1 never.",
    after="What arrives is no noise: it is another batch, complete and plausible. And keeping the "
    "buffer alive did not help, since the race is on what is in it. The event makes the host wait "
    "for the one copy that still reads; the first wait returns at once, as an event that was never "
    "recorded counts as reached.",
    belief="M12",
    hint="Two copies can be in the queue at the same time. What do they read if both run now?",
    latest=[3, 3, 3],
    early=[1, 2, 3],
    token="h8.d2",
)
