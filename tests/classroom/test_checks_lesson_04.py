"""Checks of lesson 04: right answers pass, wrong ones are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.classroom import check_04_1, check_04_2, check_04_3, check_04_4
from pinlab.classroom.checks.lesson_04 import four_requests, owners_of
from pinlab.classroom.checks.mean_pool import CASES, hidden_states, plain_mean
from pinlab.classroom.checks.verdict import Verdict
from pinlab.device import pick_device
from pinlab.serving import MeanPool, PoolingMetadata

device = pick_device()


@pytest.fixture(autouse=True)
def _fresh_device() -> None:
    sim.reset()


def assert_wrong(verdict: Verdict, belief: str | None, *words: str) -> None:
    assert verdict.state == "wrong", verdict
    assert verdict.belief == belief, verdict
    for word in words:
        assert word in str(verdict)


def test_unfilled_stubs_are_not_answered() -> None:
    def stub(*_: Any): ...

    for answer in (..., (..., ...), (OWNERS, ...), (..., NUMBERS)):
        assert check_04_1.judge(answer).state == "open"
    for check in (check_04_2, check_04_3, check_04_4):
        assert check.judge(stub).state == "open"


def test_every_check_has_graduated_hints() -> None:
    for check in (check_04_1, check_04_2, check_04_3, check_04_4):
        assert len(check.hints) >= 2


# -- 04.1 follow the rows -------------------------------------------------------------------------

OWNERS, NUMBERS = ["e", "b", "d", None, None], [4, 5, 8, 8, 0]


def test_the_rows_as_the_batch_leaves_them_are_right_in_any_spelling() -> None:
    assert check_04_1.judge((OWNERS, NUMBERS)).state == "right"
    for free in (["nobody", "-"], ["None", "free"]):
        assert check_04_1.judge([["e", "b", "d", *free], np.array(NUMBERS)]).state == "right"


@pytest.mark.parametrize(
    ("owners", "numbers", "words"),
    [
        (OWNERS, [4, 5, 8, 0, 0], "nobody cleared it"),
        (OWNERS, [3, 5, 8, 8, 0], "Row 0 holds another number than 3"),
        (["b", "d", "e", None, None], NUMBERS, "lowest row that is marked empty"),
        (["e", "d", "b", None, None], NUMBERS, "as few rows as it can"),
        (["e", "b", None, "d", None], NUMBERS, "Row 2 is not free"),
        (OWNERS[:3], NUMBERS[:3], "There are 5 rows"),
    ],
)
def test_wrong_rows_are_told_apart(owners: list[Any], numbers: list[int], words: str) -> None:
    assert_wrong(check_04_1.judge((owners, numbers)), None, words)


def test_another_form_of_answer_is_explained() -> None:
    assert_wrong(check_04_1.judge(7), None, "Give two lists")
    assert_wrong(check_04_1.judge(["e", "b", "d", None, None]), None, "Give two lists")


# -- 04.2 condense --------------------------------------------------------------------------------


def condense(owners: list[str | None], numbers: Any) -> None:
    while None in owners:
        last = len(owners) - 1
        owner = owners.pop()
        if owner is not None:
            gap = owners.index(None)
            owners[gap] = owner
            numbers[gap] = numbers[last]


def test_the_last_row_into_the_lowest_gap_is_right() -> None:
    assert check_04_2.judge(condense).state == "right"


def closing_up(owners: list[str | None], numbers: Any) -> None:
    kept = [(owner, int(n)) for owner, n in zip(owners, numbers, strict=False) if owner]
    owners[:] = [owner for owner, _ in kept]
    for row, (_, number) in enumerate(kept):
        numbers[row] = number


def rebinding(owners: list[str | None], numbers: Any) -> None:
    mine = numbers.copy()
    condense(owners, mine)
    numbers = mine


def rebinding_both(owners: list[str | None], numbers: Any) -> None:
    condense(list(owners), numbers)


def clearing(owners: list[str | None], numbers: Any) -> None:
    condense(owners, numbers)
    numbers[len(owners) :] = 0


def losing(owners: list[str | None], numbers: Any) -> None:
    while None in owners:
        owners.pop()


@pytest.mark.parametrize(
    ("answer", "belief", "words"),
    [
        (closing_up, None, "the others stay where they are"),
        (rebinding, "M1", "the names moved, the numbers did not"),
        (rebinding_both, "M1", "a gap is left"),
        (clearing, None, "keeps its number"),
        (losing, None, "the owners should be"),
    ],
)
def test_wrong_ways_to_condense_are_told_apart(
    answer: Callable[..., None], belief: str | None, words: str
) -> None:
    assert_wrong(check_04_2.judge(answer), belief, words)


def test_an_error_in_the_learner_s_function_is_explained() -> None:
    def pops_after_looking(owners: list[str | None], numbers: Any) -> None:
        while None in owners:
            gap = owners.index(None)
            owners[gap] = owners.pop()
            numbers[gap] = numbers[len(owners)]

    assert_wrong(check_04_2.judge(lambda owners, numbers: owners[9]), None, "IndexError")
    assert_wrong(
        check_04_2.judge(pops_after_looking), None, "condense(['a', 'b', 'c', None], ", "IndexError"
    )


def test_the_oracle_is_the_batch_of_the_engine() -> None:
    batch = four_requests()
    batch.remove_request("b")
    batch.condense()
    assert owners_of(batch) == ["a", "d", "c", None, None]


# -- 04.3 mean pooling ----------------------------------------------------------------------------


def means(
    hidden: torch.Tensor,
    scheduled: torch.Tensor,
    prompt_lens: torch.Tensor,
    *,
    add_first: bool = True,
    divide: bool = True,
    later: bool = True,
) -> torch.Tensor:
    ends = scheduled.cumsum(0)
    last = (ends - 1).to(device, non_blocking=later)
    first = (ends - scheduled).to(device, non_blocking=later)
    running = hidden.cumsum(0)
    sums = running.index_select(0, last) - running.index_select(0, first)
    if add_first:
        sums = sums + hidden.index_select(0, first)
    if not divide:
        return sums
    return sums / prompt_lens.to(device, non_blocking=later).unsqueeze(1)


def test_running_sums_are_right() -> None:
    assert check_04_3.judge(means).state == "right"


def test_rows_picked_with_brackets_are_right_too() -> None:
    def bracketed(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
        ends = scheduled.cumsum(0)
        last = (ends - 1).to(device, non_blocking=True)
        first = (ends - scheduled).to(device, non_blocking=True)
        running = hidden.cumsum(0)
        sums: torch.Tensor = running[last] - running[first] + hidden[first]
        return sums / prompt_lens.to(device, non_blocking=True).unsqueeze(1)

    assert check_04_3.judge(bracketed).state == "right"


@pytest.mark.parametrize("lens", CASES)
def test_the_oracle_agrees_with_the_pooler_of_the_engine(lens: tuple[int, ...]) -> None:
    metadata = PoolingMetadata(torch.tensor(lens), [str(n) for n in range(len(lens))])
    metadata.build_pooling_cursor(np.array(lens), np.array(lens), device)
    hidden = hidden_states(lens)
    pooled = MeanPool()(hidden.to(device), metadata).cpu()
    torch.testing.assert_close(pooled.double(), plain_mean(hidden, lens), atol=1e-5, rtol=0)


def by_scheduled(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
    return means(hidden, scheduled, scheduled)


def by_prompt_lens(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
    return means(hidden, prompt_lens.long(), prompt_lens)


def looping(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
    sums = torch.stack([part.sum(0) for part in hidden.split(scheduled.tolist())])
    return sums / prompt_lens.to(device, non_blocking=True).unsqueeze(1)


def on_the_host(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
    return means(hidden, scheduled, prompt_lens).cpu()


def off_by_one(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
    return hidden.cumsum(0).index_select(0, (scheduled.cumsum(0) - 1).to(device))


def test_an_index_out_of_range_on_the_device_is_explained() -> None:
    def too_far(hidden: Any, scheduled: Any, prompt_lens: Any) -> torch.Tensor:
        return hidden.index_select(0, scheduled.cumsum(0).to(device, non_blocking=True))

    assert_wrong(check_04_3.judge(too_far), None, "index_select.default failed on the device")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda h, s, p: means(h, s, p, divide=False), "The division is missing"),
        (lambda h, s, p: means(h, s, p, add_first=False), "lacks its first token"),
        (lambda h, s, p: means(h, s, p, later=False), "the host waits for the device"),
        (by_scheduled, "prompt_lens is not read"),
        (by_prompt_lens, "Take them from `scheduled`"),
        (looping, "operations for 3 requests"),
        (on_the_host, "stay on the device"),
        (off_by_one, "the loop gives"),
        (lambda h, s, p: h, "one vector a request"),
        (lambda h, s, p: 7, "returns int"),
    ],
)
def test_wrong_pooling_is_told_apart(answer: Callable[..., Any], words: str) -> None:
    assert_wrong(check_04_3.judge(answer), None, words)


# -- 04.4 what a wrong length does ----------------------------------------------------------------


def test_right_over_wrong_is_right() -> None:
    assert check_04_4.judge(lambda score, right, wrong: score * right / wrong).state == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda score, right, wrong: score * wrong / right, "a larger divisor"),
        (lambda score, right, wrong: score, "MEAN does"),
        (lambda score, right, wrong: score - wrong, "yours gives"),
        (lambda score, right, wrong: "half", "should return a number"),
    ],
)
def test_wrong_factors_are_told_apart(answer: Callable[..., Any], words: str) -> None:
    assert_wrong(check_04_4.judge(answer), None, words)
