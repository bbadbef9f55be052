"""Level 5: the same lines from pageable memory; this one cannot be broken."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


def program() -> list[int]:
    row = torch.tensor([5, 7])
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


LEVEL = Level(
    id="staging",
    title="The one that cannot be broken",
    program=program,
    goal=Goal.certified(expect=[5, 7]),
    before="The lines of level 1, but the row lies in ordinary, pageable memory. "
    "non_blocking=True is still there, and the copy is still queued.\n\n"
    "Try to break it. If you come to believe that nobody can, say so: key c asks the explorer, "
    "which runs every schedule that can matter.",
    after="From pageable memory the runtime takes the bytes before the call returns: CUDA "
    "documents that it stages them. So the write comes too late to matter. The certificate is "
    "about every schedule of this program, not about the ones you happened to try.",
    belief="M5",
    hint="Look at the label in the queue: from where will the copy read?",
    latest=[5, 7],
    early=[5, 7],
    token="",
)
