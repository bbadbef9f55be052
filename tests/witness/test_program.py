"""The program on the simulated device: what the explorer lists."""

from __future__ import annotations

import itertools

import pytest

from pinlab.witness import FIRST, MOMENTS, SECOND, SimQueue, free, gated, listed, next_batch


def rewritten(rows: int) -> list[int]:
    """The rows after so many of them are rewritten."""
    return [*SECOND[:rows], *FIRST[rows:]]


def test_the_alias_receives_what_stands_in_the_rows_at_one_moment() -> None:
    report = listed("alias")
    assert sorted(report.outcomes.values_seen()) == [rewritten(rows) for rows in range(MOMENTS)]
    assert report.complete
    assert not report.correct


def test_torn_by_row_the_alias_can_receive_every_mixture() -> None:
    mixtures = {tuple(mix) for mix in itertools.product(*zip(FIRST, SECOND, strict=True))}
    assert {tuple(seen) for seen in listed("alias", pieces=3).outcomes.values_seen()} == mixtures


@pytest.mark.parametrize("repair", ["wait", "snapshot"])
def test_a_repair_is_right_in_every_schedule_torn_or_not(repair: str) -> None:
    assert listed(repair).correct
    assert listed(repair, pieces=3).correct


def test_another_repair_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="repair='clone'; it must be one of alias, wait, snapshot"):
        next_batch(SimQueue(), "clone")


def test_a_download_before_any_upload_says_so() -> None:
    with pytest.raises(RuntimeError, match="nothing was uploaded"):
        SimQueue().download()


@pytest.mark.parametrize("moment", [-1, MOMENTS])
def test_a_moment_that_is_none_is_refused(moment: int) -> None:
    with pytest.raises(ValueError, match=f"moment={moment}; it must be from 0 to 3"):
        gated("alias", moment)


def test_less_than_one_try_is_refused() -> None:
    with pytest.raises(ValueError, match="tries=0"):
        free("alias", tries=0)
