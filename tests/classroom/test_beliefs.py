"""The beliefs are complete, distinct, and point into the series."""

from __future__ import annotations

import re

from pinlab.classroom import BELIEFS


def test_there_are_fourteen_beliefs_in_order() -> None:
    assert list(BELIEFS) == [f"M{number}" for number in range(1, 15)]
    assert all(belief.id == key for key, belief in BELIEFS.items())


def test_each_belief_has_a_refutation_and_a_lesson_that_shows_it() -> None:
    for belief in BELIEFS.values():
        assert belief.wrong.endswith(".")
        assert belief.true.endswith(".")
        assert belief.wrong != belief.true
        assert re.search(r"\blesson 0[0-9]\b", belief.see), belief.id
    assert len({belief.wrong for belief in BELIEFS.values()}) == 14


def test_the_text_of_a_belief_names_all_of_it() -> None:
    text = str(BELIEFS["M7"])
    assert text.startswith("M7: “")
    assert BELIEFS["M7"].true in text
    assert BELIEFS["M7"].see in text


def test_the_bound_quoted_for_clean_runs_is_the_exact_one() -> None:
    # (1 - p)^n = 0.05 at the bound: a rate this high still gives n clean runs one time in twenty.
    for n in (5, 1000):
        p = 1 - 0.05 ** (1 / n)
        assert abs((1 - p) ** n - 0.05) < 1e-12
    assert "1 − 0.05^(1/n)" in BELIEFS["M8"].true
