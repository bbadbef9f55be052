"""Tokens: what they say, and that they say it again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlab.schedules import Schedule

positions = st.tuples(st.integers(0, 50), st.integers(0, 4))
plans = st.dictionaries(positions, st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=5)


@given(plans)
def test_a_token_reads_back_as_the_same_schedule(
    plan: dict[tuple[int, int], list[int]],
) -> None:
    schedule = Schedule(tuple((at, tuple(plan[at])) for at in sorted(plan)))
    assert Schedule.parse(str(schedule)) == schedule
    assert schedule.steps == sum(map(len, plan.values()))


@pytest.mark.parametrize(
    ("token", "plan"),
    [
        ("h", ()),
        ("h12.d2.h31.d1", (((12, 0), (0, 0)), ((43, 0), (0,)))),
        ("h3.q1.s1d2.d1", (((3, 1), (1, 1, 0)),)),
        ("d", (((0, 0), (0,)),)),
        ("h2.d.q.d", (((2, 0), (0,)), ((2, 1), (0,)))),
    ],
)
def test_what_a_token_says(token: str, plan: object) -> None:
    assert Schedule.parse(token).plan == plan


@pytest.mark.parametrize(
    "token", ["", "x", "h3.", "h3.d-1", "3h", "h3 d1", "h1.5", "sd1", "h3..d1"]
)
def test_a_token_that_cannot_be_read_is_refused_by_part(token: str) -> None:
    with pytest.raises(ValueError, match="expected h5, q1, d2 or s1d2"):
        Schedule.parse(token)


def test_schedules_are_equal_by_plan() -> None:
    assert Schedule.parse("h2.d1") == Schedule.parse("h1.h1.d1")
    assert len({Schedule.parse("h2.d1"), Schedule.parse("h2.d")}) == 1
    assert repr(Schedule.parse("h2.d1")) == "h2.d1"


def test_with_steps_cuts_off_what_comes_later() -> None:
    schedule = Schedule.parse("h2.d1.h3.d2.h1.d1")
    assert str(schedule.with_steps((5, 0), (1, 0))) == "h2.d1.h3.s1d1.d1"


def test_a_schedule_from_a_token_alone_has_no_steps_to_tell() -> None:
    with pytest.raises(ValueError, match="has no program"):
        Schedule.parse("h2.d1").steps_taken()
