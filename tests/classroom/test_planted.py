"""The planted bugs against the six tests: the matrix that lesson 07 tells."""

from __future__ import annotations

import pytest

from pinlab.classroom.planted import (
    PLANTED,
    SUITE,
    ReusedSnapshotBatch,
    WrongSliceBatch,
    is_red,
    squares,
    tried,
)
from pinlab.classroom.planted.judge import word
from pinlab.device import pick_device
from pinlab.serving import InputBatch, difference
from pinlab.serving.scenarios import SCENARIOS
from pinlab.serving.variants import CopyBatch, EventWaitBatch

pick_device()
TESTS = tuple(SUITE)
MATRIX = {
    "aliasing": ("missed", "missed", "luck", "caught", "caught", "caught"),
    "wrong slice": ("caught", "caught", "caught", "missed", "caught", "caught"),
    "clone too late": ("missed", "missed", "luck", "caught", "caught", "caught"),
    "wrong event": ("missed", "missed", "luck", "missed", "caught", "caught"),
    "off by one": ("missed", "caught", "missed", "missed", "caught", "missed"),
}


def tries(test: str) -> int:
    """Enough for luck to show where there is any; the rest does not depend on the schedule."""
    return 10 if test == "5 runs equal" else 1


@pytest.mark.parametrize("bug", PLANTED)
def test_the_tests_see_what_the_lesson_says(bug: str) -> None:
    batch = PLANTED[bug].batch
    found = tuple(word(tried(SUITE[test], batch, tries(test))) for test in TESTS)
    assert found == MATRIX[bug]


@pytest.mark.parametrize("batch_cls", [InputBatch, CopyBatch, ReusedSnapshotBatch])
def test_right_batches_are_green_in_all_six(batch_cls: type[InputBatch]) -> None:
    assert [name for name, test in SUITE.items() if is_red(test, batch_cls)] == []


def test_an_ordering_is_red_in_the_metadata_test_alone() -> None:
    assert [n for n, test in SUITE.items() if is_red(test, EventWaitBatch)] == ["metadata stays"]


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_differs_from_the_right_batch_in_few_lines(bug: str) -> None:
    lines = difference(PLANTED[bug].of, PLANTED[bug].batch).splitlines()
    assert 1 <= sum(line.startswith(("+", "-")) for line in lines) <= 5


@pytest.mark.parametrize("scenario", ["two steps", "swap"])
def test_the_reused_snapshot_is_right_in_every_scenario(scenario: str) -> None:
    from pinlab.schedules import explore

    program = SCENARIOS[scenario].program(ReusedSnapshotBatch)
    assert explore(program, expect=SCENARIOS[scenario].expect).correct


def test_the_wrong_slice_is_the_right_one_in_a_full_batch() -> None:
    from pinlab.serving import CachedRequestState

    batch = WrongSliceBatch(3, "sim")
    for name, length in (("a", 2), ("b", 4), ("c", 8)):
        batch.add_request(CachedRequestState(name, [1] * length))
    assert batch.get_pooling_metadata().prompt_lens.tolist() == [2, 4, 8]


def test_a_row_of_squares_has_an_entry_for_each_test() -> None:
    with pytest.raises(ValueError, match="alias: 1 entries for 2 tests"):
        squares({"alias": [...]}, ["one", "two"])
