"""Wilson's interval, against the formula's defining property."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlab.serving.rate import Rate

Z95 = 1.959963984540054
counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_at_each_end_the_rate_is_z_standard_errors_away(count: tuple[int, int]) -> None:
    rate = Rate(*count)
    for end in rate.interval():
        squares = Z95**2 * end * (1 - end) / rate.tries
        assert (rate.value - end) ** 2 == pytest.approx(squares, abs=1e-12)


@given(counts)
def test_the_interval_holds_the_rate_and_stays_within_zero_and_one(count: tuple[int, int]) -> None:
    low, high = Rate(*count).interval()
    assert 0 <= low <= Rate(*count).value <= high <= 1
    assert low < high


def test_more_tries_and_less_confidence_make_it_narrower() -> None:
    def width(rate: Rate, confidence: float = 0.95) -> float:
        low, high = rate.interval(confidence)
        return high - low

    assert width(Rate(50, 100)) < width(Rate(5, 10))
    assert width(Rate(5, 10), 0.5) < width(Rate(5, 10))


@pytest.mark.parametrize(
    ("hits", "tries", "message"),
    [(0, 0, "tries=0; it must be 1"), (-1, 2, "hits=-1"), (3, 2, "hits=3; .* tries=2")],
)
def test_impossible_counts_are_refused(hits: int, tries: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rate(hits, tries)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match=f"confidence={confidence}; it must be between 0 and 1"):
        Rate(1, 2).interval(confidence)
