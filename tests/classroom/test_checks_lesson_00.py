"""Checks and experiment of lesson 00: the symptom is there, measured, and its cause not named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pinlab.classroom import check_00_1, check_00_2
from pinlab.classroom.checks.lesson_00 import SUSPECTS, made_up_result
from pinlab.classroom.checks.verdict import Verdict
from pinlab.classroom.mystery import rerank_as_it_was
from pinlab.device import pick_device
from pinlab.serving import RerankResult

Unstable = Callable[[RerankResult], Any]


def assert_wrong(verdict: Verdict, *words: str) -> None:
    assert verdict.state == "wrong", verdict
    assert verdict.belief is None
    for word in words:
        assert word in str(verdict)


def test_unfilled_stubs_are_not_answered() -> None:
    def stub(result: Any) -> Any: ...

    assert check_00_1.judge(stub).state == "open"
    assert check_00_2.judge(dict.fromkeys(SUSPECTS, ...)).state == "open"
    assert check_00_2.judge({"rounding": "ruled out"}).state == "open"


def test_every_check_has_graduated_hints() -> None:
    assert min(len(check.hints) for check in (check_00_1, check_00_2)) >= 2


# -- 00.1 -----------------------------------------------------------------------------------------


def unstable(result: RerankResult) -> list[int]:
    first = result[0].orders
    return [
        query
        for query in range(len(first))
        if any(not np.array_equal(run.orders[query], first[query]) for run in result)
    ]


def by_places(result: RerankResult) -> Any:
    spans = [
        np.ptp(result.positions(query), axis=0).max() for query in range(len(result[0].orders))
    ]
    return np.nonzero(spans)[0]


@pytest.mark.parametrize("answer", [unstable, by_places, lambda result: set(unstable(result))])
def test_any_way_to_list_unstable_questions_is_right(answer: Unstable) -> None:
    assert check_00_1.judge(answer).state == "right"


def winners_only(result: RerankResult) -> list[int]:
    first = result[0].orders
    return [q for q in range(len(first)) if len({int(run.orders[q][0]) for run in result}) > 1]


def neighbours_in_the_end(result: RerankResult) -> list[int]:
    first, last = result[0].orders, result[-1].orders
    return [q for q in range(len(first)) if not np.array_equal(first[q], last[q])]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (winners_only, "only the last two places"),
        (neighbours_in_the_end, "only the middle run differs"),
        (lambda result: [], "the two runs differ in question 1"),
        (lambda result: [0], "all runs agree"),
        (lambda result: 3, "a list of question numbers"),
    ],
)
def test_wrong_counts_are_told_apart(answer: Unstable, words: str) -> None:
    assert_wrong(check_00_1.judge(answer), words)


def test_a_made_up_result_has_the_orders_it_was_given() -> None:
    orders = np.array([[[2, 0, 1]], [[0, 1, 2]]])
    result = made_up_result(orders)
    assert [run.orders.tolist() for run in result] == orders.tolist()
    assert np.argsort(-result[0].scores[0]).tolist() == [2, 0, 1]


# -- 00.2 -----------------------------------------------------------------------------------------


def test_three_suspects_are_ruled_out_and_one_is_left() -> None:
    assert check_00_2.judge({name: true for name, (true, _) in SUSPECTS.items()}).state == "right"


@pytest.mark.parametrize("suspect", SUSPECTS)
def test_a_wrong_verdict_is_met_by_the_evidence(suspect: str) -> None:
    answer = {name: true for name, (true, _) in SUSPECTS.items()}
    answer[suspect] = "suspect" if answer[suspect] == "ruled out" else "ruled out"
    assert_wrong(check_00_2.judge(answer), SUSPECTS[suspect][1])


def test_capitals_and_spaces_in_a_verdict_do_not_matter() -> None:
    answer = {name: f" {true.capitalize()} " for name, (true, _) in SUSPECTS.items()}
    assert check_00_2.judge(answer).state == "right"


def test_nonsense_is_explained() -> None:
    assert_wrong(check_00_2.judge(["rounding"]), "Give a dict")
    assert_wrong(check_00_2.judge({"the weather": "suspect"}), "not on the list")
    assert_wrong(check_00_2.judge(dict.fromkeys(SUSPECTS, "perhaps")), "is one of")


# -- the experiment -------------------------------------------------------------------------------


def test_five_seeds_give_five_results_that_come_back_and_that_differ() -> None:
    seen = rerank_as_it_was(pick_device(), seeds=[1, 2, 3, 4, 5])
    assert len(seen) == 5
    assert seen.distinct_orders == 5
    again = rerank_as_it_was(pick_device(), seeds=[4])
    assert again[0].scores.tobytes() == seen[3].scores.tobytes()


def test_the_result_does_not_name_the_cause() -> None:
    assert "lias" not in repr(rerank_as_it_was(pick_device(), seeds=[1]))
