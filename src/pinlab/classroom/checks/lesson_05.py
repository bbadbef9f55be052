"""Checks of lesson 05, the race: write the alias, find a schedule, find a step that cannot hurt.

All of them run the batch of the lesson under every schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pinlab import sim
from pinlab.classroom.checks.all_schedules import explored
from pinlab.classroom.checks.attempt import LearnerError, attempt
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.detect import alias_map
from pinlab.device import pick_device
from pinlab.schedules import Raised, Schedule, ScheduleError, replay
from pinlab.serving import CachedRequestState, InputBatch, MeanPool, PoolingMetadata
from pinlab.serving.variants import AliasingBatch

LENGTHS = np.array([2, 4, 8])
RIGHT = [10.0, 20.0, 40.0]
ONLY_B = [10.0, 10.0, 40.0]


def three_requests(batch_cls: type[InputBatch]) -> InputBatch:
    """The batch of the lesson: a, b and c with 2, 4 and 8 tokens; the fourth row is free."""
    batch = batch_cls(max_num_reqs=4, device=pick_device(), max_model_len=8)
    batch.add_request(CachedRequestState("a", [10] * 2))
    batch.add_request(CachedRequestState("b", [20] * 4))
    batch.add_request(CachedRequestState("c", [40] * 8))
    return batch


def queue_means(batch: InputBatch) -> torch.Tensor:
    """Queue mean pooling of the three requests; a token's vector is its id."""
    hidden_states = torch.tensor([10.0] * 2 + [20.0] * 4 + [40.0] * 8).unsqueeze(1)
    metadata = batch.get_pooling_metadata()
    metadata.build_pooling_cursor(LENGTHS, LENGTHS, batch.device)
    return MeanPool()(hidden_states.to(batch.device), metadata)


def two_steps(batch_cls: type[InputBatch] = AliasingBatch) -> list[float]:
    """The program of the lesson: pool one step, rewrite the rows for the next, read the means."""
    batch = three_requests(batch_cls)
    means = queue_means(batch)
    batch.remove_request("b")
    batch.condense()
    batch.add_request(CachedRequestState("d", [80]))
    found: list[float] = means.flatten().tolist()
    return found


def made(batch_cls: type[InputBatch]) -> tuple[InputBatch, PoolingMetadata]:
    """A batch of a learner's class, and the metadata that it gives; LearnerError if it gives none.

    >>> made(AliasingBatch)[1].prompt_lens.tolist()
    [2, 4, 8]
    """
    batch: InputBatch = attempt(three_requests, batch_cls)
    metadata = attempt(batch.get_pooling_metadata)
    if not hasattr(metadata, "prompt_lens"):
        raise LearnerError(
            f"get_pooling_metadata returns {type(metadata).__name__}, should be PoolingMetadata: "
            "keep the last line, return PoolingMetadata(prompt_lens, self.req_ids)."
        )
    return batch, metadata


# --- 05.1 write the alias ---------------------------------------------------------------------


def _grade_alias(batch_cls: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if not (isinstance(batch_cls, type) and issubclass(batch_cls, InputBatch)):
        return wrong("Give the class itself, a subclass of InputBatch.")
    batch, metadata = made(batch_cls)
    lens: Any = metadata.prompt_lens  # a stub leaves dots
    if not isinstance(lens, torch.Tensor):
        return not_answered("prompt_lens is not a tensor yet.")
    if lens.tolist() != LENGTHS.tolist():
        return wrong(f"prompt_lens shows {lens.tolist()}, should be {LENGTHS.tolist()}.")
    if not _shares(lens, batch.num_prompt_tokens_cpu_tensor):
        return wrong(
            "This is a copy: it shares no byte with the rows, so nothing can go wrong. "
            ".clone(), .copy(), torch.tensor(…), another dtype and a list of indices all copy; a "
            "slice alone does not.",
            see=f"b = three_requests({batch_cls.__name__}); show(memory_map("
            "rows=b.num_prompt_tokens, prompt_lens=b.get_pooling_metadata().prompt_lens))",
        )
    report = explored(lambda: two_steps(batch_cls), RIGHT, batch_cls.get_pooling_metadata)
    if report.correct:
        return wrong("It shares memory, and yet every schedule is right. Is something waited for?")
    return right(
        f"The bytes are shared, and {len(report.outcomes)} different results come out of "
        f"{report.explored} schedules that matter."
    )


def _shares(one: torch.Tensor, other: torch.Tensor) -> bool:
    return any(len(group) > 1 for group in alias_map(one=one, other=other).groups)


# --- 05.2 find the schedule -------------------------------------------------------------------


def _grade_token(token: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if isinstance(token, list | tuple) and token and all(isinstance(t, Schedule) for t in token):
        return wrong(f"That is a list of schedules, {len(token)} long. Take one of them: its [0].")
    if isinstance(token, str) and len(token) > 1 and set(token) <= set("hd"):
        return wrong(
            f"“{token}” are keys of the game. A token counts them: h3.d1 is three host lines, then "
            "one step of the device. Take one from the report of two_steps."
        )
    try:
        found = replay(two_steps, str(token))
    except (ScheduleError, ValueError) as error:
        return wrong(f"This is no schedule of two_steps: {error}.")
    if isinstance(found, Raised):
        return wrong(f"Under {token} the program raises {found}.")
    if found == ONLY_B:
        return right(
            f"Under {token} the upload falls between condense and add_request: b is divided by "
            "c's length, and c, whose row is not rewritten yet, comes out right."
        )
    if found == RIGHT:
        return wrong(f"Under {token} all three are right: the upload ran before condense.")
    return wrong(
        f"Under {token} the means are {found}: the upload ran after add_request. Now between the "
        "two.",
        "M14",
        "report.outcomes, with a schedule for each",
    )


# --- 05.3 a next step that cannot hurt --------------------------------------------------------


def _grade_harmless(next_step: Callable[[InputBatch], object]) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    batch = three_requests(AliasingBatch)
    rows = batch.num_prompt_tokens  # another array under that name would not change these
    before = rows.copy()
    attempt(next_step, batch)
    if np.array_equal(before, rows):
        if batch.num_prompt_tokens is not rows:
            return wrong("The rows are as they were: the name was bound to another array.", "M1")
        return wrong("The rows are as they were. Let the next step change at least one number.")
    report = explored(around(next_step), RIGHT, next_step)
    if report.correct and _waits(next_step):
        return wrong(
            "Right in every schedule, but your step waits for the device, and the next step of "
            "the lesson waits for nobody. Take the wait out: which rows may still be written?"
        )
    if report.correct:
        changed = np.flatnonzero(before != rows).tolist()
        return right(
            f"Row {', '.join(map(str, changed))} changed, and no schedule shows it: the pending "
            "copy does not read those bytes."
        )
    failed = report.counterexample
    value = next(o for o, ways in report.outcomes.items() if failed in ways)
    if isinstance(value.value, Raised):
        raise LearnerError(f"Your function raised {value.value}.")
    return wrong(
        f"Schedule “{failed}” gives {value}: your step rewrites a row that the copy still reads.",
        "M7",
        f'replay(around({next_step.__name__}), "{failed}"), with around from '
        "pinlab.classroom.checks.lesson_05",
    )


def around(next_step: Callable[[InputBatch], object]) -> Callable[[], list[float]]:
    """The program that check 05.3 explores: queue the means, the learner's step, read the means."""

    def program() -> list[float]:
        rows = three_requests(AliasingBatch)
        means = queue_means(rows)
        attempt(next_step, rows)
        found: list[float] = means.flatten().tolist()
        return found

    return program


def _waits(next_step: Callable[[InputBatch], object]) -> bool:
    """Whether the host waits for the device within the step, or asks until it is done."""
    rows = three_requests(AliasingBatch)
    with sim.mode("lazy"):
        queue_means(rows)
        with sim.record() as run:
            attempt(next_step, rows)
    return any(event.kind in ("wait", "query") for event in run.host)


CHECKS = (
    Check(
        "05.1",
        _grade_alias,
        hints=(
            "Which of the two names of the rows is a tensor already?",
            "A slice of a tensor is a view.",
            "prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]",
        ),
    ),
    Check(
        "05.2",
        _grade_token,
        hints=(
            "print(report) lists each result with one schedule.",
            "The row of [10.0, 10.0, 40.0] ends with it.",
            "str(report.outcomes[[10.0, 10.0, 40.0]][0])",
        ),
    ),
    Check(
        "05.3",
        _grade_harmless,
        hints=(
            "The view of this step reaches three rows. How many rows has the batch?",
            "A new request takes the next free row, if none was removed.",
            'batch.add_request(CachedRequestState("d", [80])), and nothing else',
        ),
    ),
)
