"""Checks of lesson 04, the batch: follow the rows, condense them, see what a length does.

Mean pooling, exercise 3, is graded in ``mean_pool.py``.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from pinlab.classroom.checks.attempt import LearnerError, attempt
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.mean_pool import grade_mean_pool
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong
from pinlab.classroom.question import is_open
from pinlab.device import pick_device
from pinlab.serving import CachedRequestState, InputBatch

LENGTHS = {"a": 3, "b": 5, "c": 2, "d": 8}
ROWS = 5
FREE = ("none", "", "-", "nobody", "free")  # what an answer may call a row that is nobody's
Numbers = npt.NDArray[np.int32]


def four_requests() -> InputBatch:
    """The batch of the lesson: a, b, c and d with 3, 5, 2 and 8 tokens in five rows.

    >>> four_requests().req_ids
    ['a', 'b', 'c', 'd']
    """
    batch = InputBatch(ROWS, pick_device(), max_model_len=8)
    for req_id, length in LENGTHS.items():
        batch.add_request(CachedRequestState(req_id, [7] * length))
    return batch


def owners_of(batch: InputBatch) -> list[str | None]:
    """The request of each row, None for a free one."""
    names = {row: req_id for req_id, row in batch.req_id_to_index.items()}
    return [names.get(row) for row in range(batch.max_num_reqs)]


# --- 04.1 follow the rows ---------------------------------------------------------------------


def _grade_rows(answer: Any) -> Verdict:
    try:
        owners, numbers = (part if is_open(part) else [*part] for part in answer)
    except (TypeError, ValueError):
        return wrong("Give two lists: check_04_1((owners, numbers)).")
    if is_open(owners) or is_open(numbers):
        return not_answered("check_04_1.hint() gives a first hint.")
    if len(owners) != ROWS or len(numbers) != ROWS:
        return wrong(
            f"There are {ROWS} rows; you list {len(owners)} owners, {len(numbers)} numbers."
        )
    batch = four_requests()
    batch.remove_request("a")
    batch.remove_request("c")
    batch.add_request(CachedRequestState("e", [7] * 4))
    batch.condense()
    true_owners, true_numbers = owners_of(batch), batch.num_prompt_tokens.tolist()
    told = [None if str(owner).lower() in FREE else str(owner) for owner in owners]
    if told != true_owners:
        return _wrong_owners(told, true_owners)
    for row, (said, true) in enumerate(zip(numbers, true_numbers, strict=True)):
        if said != true and true_owners[row] is None and said == 0:
            return wrong(
                f"Row {row} is nobody's, and nobody cleared it: the number of its last request "
                "stays until another is written over it."
            )
        if said != true:
            return wrong(f"The owners are right. Row {row} holds another number than {said!r}.")
    return right("e took the lowest empty row, d moved into the other, and its old row kept its 8.")


def _wrong_owners(told: list[str | None], true: list[str | None]) -> Verdict:
    if "e" not in told[:1]:
        return wrong("A new request takes the lowest row that is marked empty. Which one is that?")
    if told[1] != "b":
        return wrong("b was there before and after. condense moves as few rows as it can.")
    row = next(row for row in range(ROWS) if told[row] != true[row])
    return wrong(
        f"Row {row} is not {told[row] or 'free'}: condense takes the *last* row to fill a gap."
    )


# --- 04.2 condense ----------------------------------------------------------------------------


def _grade_condense(condense: Any) -> Verdict:
    lengths = [3, 5, 2, 8]
    names = [*"abcd"]
    for count in range(len(names) + 1):
        for removed in itertools.combinations(names, count):
            owners: list[str | None] = [None if n in removed else n for n in names]
            numbers = np.array([*lengths, 0], dtype=np.int32)
            given = f"condense({owners}, {numbers.tolist()})"
            try:
                attempt(condense, owners, numbers)
            except LearnerError as error:
                return wrong(f"{given}: {error}")
            said = _compared(owners, numbers, removed, given)
            if said is not None:
                return said
    return right("All 16 ways to remove some of four requests end as they do in InputBatch.")


def _compared(
    owners: list[str | None], numbers: Numbers, removed: tuple[str, ...], given: str
) -> Verdict | None:
    batch = four_requests()
    before = batch.num_prompt_tokens.tolist()
    for req_id in removed:
        batch.remove_request(req_id)
    batch.condense()
    want_owners, want_numbers = batch.req_ids, batch.num_prompt_tokens.tolist()
    if owners == want_owners and numbers.tolist() == want_numbers:
        return None
    got = f"{given} leaves {owners} and {numbers.tolist()}"
    if None in owners:
        return wrong(f"{got}: a gap is left. Change the list that you are given, in place.", "M1")
    if owners != want_owners and sorted(map(str, owners)) == sorted(want_owners):
        return wrong(
            f"{got}: every request is there, but not in the row it should be, {want_owners}. The "
            "last row fills the lowest gap; the others stay where they are."
        )
    if owners != want_owners:
        return wrong(f"{got}; the owners should be {want_owners}.")
    if numbers.tolist() == before:
        return wrong(
            f"{got}: the names moved, the numbers did not. `numbers = …` binds a name of your own; "
            "write numbers[row] = ….",
            "M1",
            "print(numbers) in the caller after your function",
        )
    return wrong(
        f"{got}; the numbers should be {want_numbers}. A row that is left keeps its number."
    )


# --- 04.4 what a wrong length does to a score -------------------------------------------------


def _grade_rescaled(rescaled: Any) -> Verdict:
    rng = np.random.default_rng(4)
    for right_len, wrong_len in ((18, 36), (18, 9), (11, 77), (40, 40)):
        tokens, query = rng.normal(size=(right_len, 6)), rng.normal(size=6)
        score = float(tokens.mean(axis=0) @ query)
        want = float(tokens.sum(axis=0) / wrong_len @ query)
        got = attempt(rescaled, score, right_len, wrong_len)
        try:
            value = float(got)
        except (TypeError, ValueError):
            return wrong(f"rescaled should return a number, yours returns {got!r}.")
        if np.isclose(value, want, rtol=1e-9):
            continue
        said = (
            f"A score of {score:.3f} with {wrong_len} in place of {right_len} tokens is {want:.3f}"
        )
        if np.isclose(value, score * wrong_len / right_len):
            return wrong(f"{said}, not {value:.3f}: a larger divisor makes a smaller score.")
        if np.isclose(value, score):
            return wrong(f"{said}: LAST and CLS would not notice, MEAN does.")
        return wrong(f"{said}; yours gives {value:.3f}.")
    return right("A wrong length multiplies the score by right / wrong, and does nothing else.")


CHECKS = (
    Check(
        "04.1",
        _grade_rows,
        hints=(
            "One call at a time: mark two rows, fill the lower one, then condense.",
            "e goes to row 0. Of rows 0 to 3 only row 2 is still empty, and row 3 is the last one.",
            "Nothing clears a row that is given up: its number stays.",
        ),
    ),
    Check(
        "04.2",
        _grade_condense,
        hints=(
            "While there is a None in owners: look at the last entry first.",
            "If the last entry is None, pop it. If not, it moves into the lowest gap.",
            "last = len(owners) - 1; owner = owners.pop(); gap = owners.index(None); then write "
            "owners[gap] and numbers[gap].",
        ),
    ),
    Check(
        "04.3",
        grade_mean_pool,
        hints=(
            "The sum of one prompt is the running sum at its last token, less the running sum just "
            "before its first.",
            "last = scheduled.cumsum(0) - 1 and first = scheduled.cumsum(0) - scheduled. Send both "
            "to the device, non_blocking, and take the rows running[last] and running[first].",
            "running[last] - running[first] lacks the first token; add hidden_states[first]. Then "
            "divide by prompt_lens, on the device, as a column: .unsqueeze(1).",
        ),
    ),
    Check(
        "04.4",
        _grade_rescaled,
        hints=(
            "A score is (sum of the vectors / length) · query. What stays, what changes?",
            "Undo the right division, then do the wrong one.",
        ),
    ),
)
