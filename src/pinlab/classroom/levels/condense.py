"""Level 10: the batch of the story, scaled down to the rows that matter."""

from __future__ import annotations

import torch

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.levels.level import Level


class Rows:
    """The lengths of the prompts, a row a request; the rows of a step are 0 … n - 1."""

    def __init__(self, *lengths: int) -> None:
        self.num_prompt_tokens = torch.tensor([*lengths, 0], dtype=torch.int32, pin_memory=True)

    def condense(self, hole: int, last: int) -> None:
        """The last row moves into the hole that a finished request left."""
        self.num_prompt_tokens[hole] = self.num_prompt_tokens[last]

    def add(self, row: int, length: int) -> None:
        """A new request takes a row."""
        self.num_prompt_tokens[row] = length


def program() -> list[float]:
    batch = Rows(2, 4, 8)
    sums = torch.tensor([20.0, 80.0, 320.0]).to("sim")
    prompt_lens = batch.num_prompt_tokens[:3]
    means = sums / prompt_lens.to("sim", non_blocking=True)
    batch.condense(hole=1, last=2)
    batch.add(row=2, length=1)
    return means.tolist()


def repaired() -> list[float]:
    batch = Rows(2, 4, 8)
    sums = torch.tensor([20.0, 80.0, 320.0]).to("sim")
    prompt_lens = batch.num_prompt_tokens[:3].clone()
    means = sums / prompt_lens.to("sim", non_blocking=True)
    batch.condense(hole=1, last=2)
    batch.add(row=2, length=1)
    return means.tolist()


LEVEL = Level(
    id="condense",
    title="The batch",
    program=program,
    repaired=repaired,
    goal=Goal.value([10.0, 10.0, 40.0], expect=[10.0, 20.0, 40.0]),
    before="Mean pooling of three requests: sums of hidden states, divided by the lengths of the "
    "prompts. prompt_lens is a view of the batch's rows. While the device works on this step, the "
    "host prepares the next one: request 1 is finished, the last row moves into its place, and a "
    "new request takes the last row. Key o runs a line with all its calls.\n\n"
    "Spoil the mean of the request in the middle, and only that one.",
    after="Nothing crashed and no number looks odd: the mean was divided by the length of another "
    "request. This is the bug of the story. The clone takes the lengths while they are still this "
    "step's.",
    belief="M14",
    hint="Which line changes row 1, and which one row 2?",
    latest=[10.0, 10.0, 320.0],
    early=[10.0, 20.0, 40.0],
    token="h8.d1",
)
