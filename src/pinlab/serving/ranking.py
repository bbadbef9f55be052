"""From scores to a rank order, and from a rank order to one number, nDCG.

Plain numpy, no model and no engine: what a lesson compares an engine's answers with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def rank_order(scores: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the passage numbers from the highest score to the lowest, shape [n] int64.

    Equal scores keep the order of the passage numbers, so the order is a function of the scores
    alone. A score that is not a number comes last: a sum divided by the wrong length can be one.
    Raises `ValueError` for scores that are not one-dimensional.

    >>> rank_order([0.5, 2.0, float("nan"), 2.0]).tolist()
    [1, 3, 0, 2]
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must have one dimension, got shape {values.shape}")
    return np.argsort(-values, kind="stable").astype(np.int64)


def ndcg_at_k(
    relevance_in_rank_order: Sequence[int] | npt.NDArray[np.integer], k: int = 10
) -> float:
    """Return the normalised discounted cumulative gain of the first `k` ranks, from 0.0 to 1.0.

    DCG@k is the sum over the ranks i = 1 … k of (2**grade - 1) / log2(i + 1); nDCG@k divides it by
    the DCG@k of the best possible order of the same grades. The discount by rank is Järvelin and
    Kekäläinen's (2002); the gain 2**grade - 1 is the form of Burges et al. (2005). Benchmarks that
    take nDCG from trec_eval use the grade itself as the gain: with grades 0 and 1 both agree.
    If no passage has a grade above 0, no order is better than another and the value is 0.0.

    relevance_in_rank_order: all grades, best ranked first; integers of 0 or more.
    Raises `ValueError` for another kind of grade, no grades at all, and `k` below 1.

    The grades 2, 3, 0 give 3/1 + 7/log2(3) + 0, the best order 3, 2, 0 gives 7/1 + 3/log2(3):

    >>> round(ndcg_at_k([2, 3, 0]), 6)
    0.833991
    """
    grades = np.asarray(relevance_in_rank_order)
    if grades.ndim != 1 or grades.size == 0 or not np.issubdtype(grades.dtype, np.integer):
        raise ValueError(
            "grades must be a non-empty sequence of integers, "
            f"got shape {grades.shape} of {grades.dtype}"
        )
    if grades.min() < 0:
        raise ValueError(f"grades must not be negative, got {grades.min()}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    best = _dcg(np.sort(grades)[::-1][:k])
    return _dcg(grades[:k]) / best if best > 0 else 0.0


def _dcg(grades: npt.NDArray[np.integer]) -> float:
    ranks = np.arange(1, len(grades) + 1)
    gains = 2.0 ** grades.astype(np.float64) - 1.0
    return float(np.sum(gains / np.log2(ranks + 1)))
