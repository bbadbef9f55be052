"""The guard map shows every case once, at its kind and its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import matplotlib.text
import pytest

from pinlab.casebook import GUARDS, case, cases
from pinlab.figures.guard_map import guard_map, guard_map_alt, guard_map_twin
from pinlab.figures.style import Drawing

TOLD = [one for one in cases(control=False) if one.guard is not None]
THREE = [case("Z07"), case("Z11"), case("Z14")]


def test_twin_has_a_line_a_kind_and_the_counts() -> None:
    head, edited, refilled, counts, far = guard_map_twin(THREE)
    assert head == "guard map: 3 cases, 2 kinds"
    assert edited.split("  ")[1:][-1].strip() == "beside it: Z07"
    assert refilled.endswith("other step: Z11 Z14")
    assert counts.endswith("beside it 1, other step 2, other part 0, misplaced 0, "
                           "one path 0, platform 0")  # fmt: skip
    assert far.split("  ")[-1] == "2 of 3"


def test_twin_and_picture_hold_each_case_once() -> None:
    ids = sorted(one.id for one in TOLD)
    assert sorted(re.findall(r"Z\d\d", "\n".join(guard_map_twin(TOLD)))) == ids
    drawn = [text.get_text() for text in guard_map(TOLD).findobj(matplotlib.text.Text)]
    assert sorted(re.findall(r"Z\d\d", "\n".join(drawn))) == ids


def test_alt_counts_the_places() -> None:
    assert guard_map_alt(THREE) == (
        "Where the guard was missing in 3 cases of 2 kinds: 1 beside it, 2 other step."
    )
    counts = [int(count) for count in re.findall(r"(\d+) [a-z]", guard_map_alt(TOLD).split(":")[1])]
    assert sum(counts) == len(TOLD)
    assert len(counts) == len(GUARDS)


def test_picture_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(guard_map(TOLD))
    assert_readable(guard_map(THREE))


def test_a_case_that_does_not_say_is_refused() -> None:
    with pytest.raises(ValueError, match="Z11 does not say where"):
        guard_map([replace(case("Z11"), guard=None)])


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 99 cases, got 0"):
        guard_map([])
