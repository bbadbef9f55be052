"""Rank orders and nDCG against values worked out by hand and by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlab.serving.ranking import ndcg_at_k, rank_order

grades = st.lists(st.integers(0, 3), min_size=1, max_size=12)


def test_the_order_goes_from_the_highest_score_down() -> None:
    assert rank_order([1.0, 3.0, -2.0, 2.5]).tolist() == [1, 3, 0, 2]


def test_equal_scores_keep_the_order_of_the_passage_numbers() -> None:
    assert rank_order([1.0] * 40).tolist() == list(range(40))
    assert rank_order([0.0, 1.0, -0.0, 1.0]).tolist() == [1, 3, 0, 2]


def test_infinities_rank_at_the_ends_and_nan_behind_everything() -> None:
    scores = [math.nan, -math.inf, 0.0, math.inf, math.nan]
    assert rank_order(scores).tolist() == [3, 2, 1, 0, 4]


def test_a_matrix_of_scores_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one dimension, got shape \(2, 2\)"):
        rank_order(np.zeros((2, 2)))


def test_ndcg_of_a_worked_example() -> None:
    # Grades in rank order 3, 2, 3, 0, 1, 2 have the gains 7, 3, 7, 0, 1, 3.
    dcg = 7 / 1 + 3 / math.log2(3) + 7 / 2 + 0 + 1 / math.log2(6) + 3 / math.log2(7)
    # The best order is 3, 3, 2, 2, 1, 0.
    best = 7 / 1 + 7 / math.log2(3) + 3 / 2 + 3 / math.log2(5) + 1 / math.log2(6) + 0
    assert dcg == pytest.approx(13.848264, abs=1e-6)
    assert best == pytest.approx(14.595391, abs=1e-6)
    assert ndcg_at_k([3, 2, 3, 0, 1, 2]) == pytest.approx(dcg / best, rel=1e-12)


def test_only_the_first_k_ranks_count_and_the_ideal_is_cut_at_k_too() -> None:
    assert ndcg_at_k([0, 0, 3], k=2) == 0.0
    assert ndcg_at_k([1, 3, 3], k=1) == pytest.approx(1 / 7)
    assert ndcg_at_k([3] * 10 + [0, 3], k=10) == 1.0


def test_without_a_relevant_passage_the_value_is_zero() -> None:
    assert ndcg_at_k([0, 0, 0]) == 0.0


@given(grades, st.integers(1, 12))
def test_ndcg_lies_between_zero_and_one_and_is_one_for_the_best_order(values, k) -> None:
    assert 0.0 <= ndcg_at_k(values, k) <= 1.0
    if any(values):
        assert ndcg_at_k(sorted(values, reverse=True), k) == 1.0


def test_no_order_of_five_grades_beats_the_sorted_one() -> None:
    values = [ndcg_at_k(order, k=3) for order in itertools.permutations([3, 2, 1, 1, 0])]
    assert max(values) == 1.0
    assert min(values) == pytest.approx(ndcg_at_k([0, 1, 1, 2, 3], k=3))


@pytest.mark.parametrize(
    ("values", "k", "message"),
    [
        ([], 10, "non-empty"),
        ([0.5, 1.0], 10, "float64"),
        ([[1, 2]], 10, r"shape \(1, 2\)"),
        ([1, -1], 10, "must not be negative, got -1"),
        ([1], 0, "k must be at least 1, got 0"),
    ],
)
def test_bad_grades_are_refused(values, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ndcg_at_k(values, k)
