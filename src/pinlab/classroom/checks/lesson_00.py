"""Checks of lesson 00, start here: measure the symptom, then sort the suspects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong
from pinlab.classroom.question import is_open
from pinlab.serving import RerankResult, RerankRun

# --- 00.1 which questions are unstable --------------------------------------------------------


def made_up_result(orders: npt.NDArray[np.int64]) -> RerankResult:
    """A result with the given orders, [runs, queries, passages], for trying functions out.

    >>> made_up_result(np.array([[[0, 1]], [[1, 0]]]))
    <rerank with nothing: 2 runs, 2 different orders, nDCG@10 0.0000, 0.0000>
    """
    runs = [RerankRun(-np.argsort(run, axis=1).astype(np.float64), run, 0.0) for run in orders]
    return RerankResult("nothing", tuple(runs))


def _orders(*runs: tuple[tuple[int, ...], ...]) -> npt.NDArray[np.int64]:
    return np.array(runs, dtype=np.int64)


SAME, LAST_TWO, ROTATED = (0, 1, 2, 3), (0, 1, 3, 2), (1, 2, 3, 0)
CASES: tuple[tuple[npt.NDArray[np.int64], list[int], str], ...] = (
    (_orders((SAME, SAME), (SAME, SAME)), [], "all runs agree"),
    (_orders((SAME, SAME), (SAME, ROTATED)), [1], "the two runs differ in question 1"),
    (_orders((SAME, SAME), (LAST_TWO, SAME)), [0], "only the last two places of question 0 differ"),
    (
        _orders((SAME, SAME, SAME), (SAME, SAME, ROTATED), (SAME, SAME, SAME)),
        [2],
        "only the middle run differs, in question 2",
    ),
    (
        _orders((SAME, ROTATED), (SAME, SAME), (LAST_TWO, SAME)),
        [0, 1],
        "question 0 differs in the last run, question 1 in the first",
    ),
)


def _grade_unstable(unstable: Any) -> Verdict:
    for orders, want, what in CASES:
        got = attempt(unstable, made_up_result(orders))
        try:
            numbers = sorted(int(number) for number in got)
        except (TypeError, ValueError):
            return wrong(f"unstable should return a list of question numbers, got {got!r}.")
        if numbers != want:
            return wrong(f"Where {what}, the answer is {want}; yours is {numbers}.")
    return right("It finds every question whose order is not the same in all runs, and no other.")


# --- 00.2 sort the suspects -------------------------------------------------------------------

SUSPECTS = {
    "random numbers": (
        "ruled out",
        "With the same seed every bit came back, and the seed chooses nothing but the schedule: no "
        "step of the engine draws a number.",
    ),
    "rounding": (
        "ruled out",
        "A score is right to seven digits or off by five percent and more. Rounding is never that.",
    ),
    "ties in the sort": (
        "ruled out",
        "The scores themselves differ between runs, before anything is sorted.",
    ),
    "the schedule": (
        "suspect",
        "It is the one thing that differs between two seeds. How it gets into a score is open.",
    ),
}
VERDICTS = ("ruled out", "suspect")


def _grade_suspects(answer: Any) -> Verdict:
    if not isinstance(answer, Mapping):
        return wrong(f"Give a dict: suspect → one of {', '.join(map(repr, VERDICTS))}.")
    for suspect in answer:
        if suspect not in SUSPECTS:
            return wrong(f"{suspect!r} is not on the list: {', '.join(SUSPECTS)}.")
    given = {name: str(said).strip().lower() for name, said in answer.items() if not is_open(said)}
    if not given:
        return not_answered("check_00_2.hint() gives a first hint.")
    for suspect, (true, why) in SUSPECTS.items():
        if suspect not in given:
            return not_answered(f"{suspect!r} is still open.")
        if given[suspect] not in VERDICTS:
            return wrong(f"{suspect!r} is one of {', '.join(map(repr, VERDICTS))}.")
        if given[suspect] != true:
            return wrong(f"{suspect}: {why}")
    return right("One suspect is left. Nine lessons will find out how it does it.")


CHECKS = (
    Check(
        "00.1",
        _grade_unstable,
        hints=(
            "result[0].orders[query] is the order of one question in the first run.",
            "A question is stable if every run has the same row as the first. np.array_equal "
            "compares two rows.",
            "return [q for q in range(len(result[0].orders)) if any(not np.array_equal("
            "run.orders[q], result[0].orders[q]) for run in result)]",
        ),
    ),
    Check(
        "00.2",
        _grade_suspects,
        hints=(
            "For each suspect ask what you would have seen in the cells above if it were guilty.",
            "The same seed twice speaks about one of them, the size of the errors about another.",
        ),
    ),
)
