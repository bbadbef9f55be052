"""The catch matrix says what the rates say; a matrix with holes is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinlab.figures.catch_matrix import catch_matrix, catch_matrix_alt, catch_matrix_twin
from pinlab.figures.style import Drawing
from pinlab.serving import Rate

TESTS = (
    "runs and finishes",
    "score in range",
    "5 runs equal",
    "metadata stays",
    "every schedule right",
    "no hazards",
)
BUGS = ("aliasing", "wrong slice", "clone too late", "wrong event", "off by one")
MATRIX = {bug: {test: Rate((n + k) % 3 * 5, 10) for k, test in enumerate(TESTS)}
          for n, bug in enumerate(BUGS)}  # fmt: skip


def test_twin_has_a_line_a_bug_with_one_word_for_each_rate() -> None:
    small = {"alias": {"runs": Rate(0, 4), "equal": Rate(1, 4), "stays": Rate(4, 4)}}
    lines = catch_matrix_twin(small)
    assert lines[0] == "catch matrix: 1 bug, 3 tests"
    assert lines[2].split() == ["alias", "missed", "luck", "1/4", "caught"]


def test_columns_of_the_twin_stand_under_their_titles() -> None:
    _, titles, *rows = catch_matrix_twin(MATRIX)
    starts = [titles.index(test) for test in TESTS]
    for row in rows:
        assert all(row[start - 1] == " " != row[start] for start in starts)


def test_alt_counts_the_squares() -> None:
    assert catch_matrix_alt(MATRIX) == (
        "Catch matrix of 5 bugs by 6 tests: 10 squares caught, 10 missed, 10 left to luck."
    )


def test_picture_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(catch_matrix(MATRIX))


def test_a_test_may_be_missing_in_no_row() -> None:
    with pytest.raises(ValueError, match="'b' has the tests"):
        catch_matrix({"a": {"t": Rate(0, 1)}, "b": {"u": Rate(0, 1)}})


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 12 bugs, got 0"):
        catch_matrix({})
    with pytest.raises(ValueError, match="1 to 6 tests, got 0"):
        catch_matrix({"a": {}})
