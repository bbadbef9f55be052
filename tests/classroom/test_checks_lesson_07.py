"""Lesson 07's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pinlab import sim
from pinlab.classroom.checks.lesson_07 import CHECKS
from pinlab.classroom.history import Commit
from pinlab.classroom.planted import PLANTED, SUITE
from pinlab.classroom.planted.suite import WANTED, run
from pinlab.classroom.questions.lesson_07 import BUGS, QUESTIONS, TESTS
from pinlab.detect import assert_no_alias
from pinlab.detect.hazards import hazards
from pinlab.device import pick_device
from pinlab.schedules import explore
from pinlab.serving import CachedRequestState, InputBatch
from pinlab.serving.scenarios import condense_and_add, three_requests, two_steps

check_stays, check_pair, check_runs, check_bisect = CHECKS
device = pick_device()
Batch = type[InputBatch]


# --- 07.1 ---------------------------------------------------------------------------------------


def uses_the_rows_themselves(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.clone()
    batch.num_prompt_tokens[:] += 1
    assert (metadata.prompt_lens == before).all()


def asks_for_shared_bytes(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    assert_no_alias(batch.get_pooling_metadata().prompt_lens, batch.num_prompt_tokens)


@pytest.mark.parametrize(
    "test", [SUITE["metadata stays"], uses_the_rows_themselves, asks_for_shared_bytes]
)
def test_a_test_of_the_metadata_is_right(test: Callable[[Batch], None]) -> None:
    assert check_stays.judge(test).state == "right"


def compares_with_itself(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens
    batch.remove_request("a")
    batch.add_request(CachedRequestState("d", [80]))
    assert (metadata.prompt_lens == before).all()


def binds_a_name(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.tolist()
    batch.num_prompt_tokens = batch.num_prompt_tokens + 1
    assert metadata.prompt_lens.tolist() == before


def replaces_the_tensor(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    before = batch.get_pooling_metadata().prompt_lens.tolist()
    batch.num_prompt_tokens_cpu_tensor = batch.num_prompt_tokens_cpu_tensor + 1
    assert batch.num_prompt_tokens_cpu_tensor.tolist() != before


def only_removes(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.tolist()
    batch.remove_request("a")
    assert metadata.prompt_lens.tolist() == before


def changes_a_free_row(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.tolist()
    batch.add_request(CachedRequestState("d", [80]))
    assert metadata.prompt_lens.tolist() == before


def waits_for_the_race(batch_cls: Batch) -> None:
    assert condense_and_add(batch_cls, device)() == [10.0, 20.0, 40.0]


def expects_the_change(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    batch.num_prompt_tokens[0] = 7
    now = batch.num_prompt_tokens_cpu_tensor[:3].tolist()
    assert metadata.prompt_lens.tolist() == now or metadata.prompt_lens.tolist() == []
    assert metadata.prompt_lens.is_pinned() is False


def cries_wolf(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    batch.num_prompt_tokens[0] = 7
    assert metadata.prompt_lens.tolist() == [0, 0, 0]


def wants_it_pageable(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    lens, rows = batch.get_pooling_metadata().prompt_lens, batch.num_prompt_tokens_cpu_tensor
    assert not lens.is_pinned() or lens.data_ptr() != rows.data_ptr()


def returns_its_verdict(batch_cls: Batch) -> bool:
    batch = three_requests(batch_cls, device)
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.tolist()
    batch.num_prompt_tokens[0] = 9
    return bool(metadata.prompt_lens.tolist() == before)


def compares_tensors_as_a_truth(batch_cls: Batch) -> None:
    batch = three_requests(batch_cls, device)
    lens = batch.get_pooling_metadata().prompt_lens
    assert lens == lens.clone()


def uses_another_class(batch_cls: Batch) -> None:
    uses_the_rows_themselves(InputBatch)


def takes_no_metadata(batch_cls: Batch) -> None:
    three_requests(batch_cls, device)


@pytest.mark.parametrize(
    ("test", "belief", "said"),
    [
        (compares_with_itself, "M2", "one more name of the same bytes"),
        (binds_a_name, "M1", "the rows were as before"),
        (replaces_the_tensor, "M1", "the rows were as before"),
        (only_removes, None, "only marks a row as free"),
        (changes_a_free_row, None, "the first 3 only"),
        (waits_for_the_race, "M8", "red if the device is late"),
        (expects_the_change, None, "red on InputBatch as well"),
        (cries_wolf, None, "red on InputBatch as well"),
        (wants_it_pageable, None, "rows that are not pinned"),
        (returns_its_verdict, None, "use assert"),
        (compares_tensors_as_a_truth, None, "torch.equal"),
        (uses_another_class, None, "use batch_cls"),
        (takes_no_metadata, None, "never asks for metadata"),
    ],
)
def test_a_test_that_cannot_tell_is_told_why(
    test: Callable[[Batch], None], belief: str | None, said: str
) -> None:
    verdict = check_stays.judge(test)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


def test_an_error_in_the_test_is_shown_with_its_line() -> None:
    def careless(batch_cls: Batch) -> None:
        three_requests(batch_cls, device).get_pooling_metadata().lens  # noqa: B018

    text = check_stays.judge(careless).text
    assert "AttributeError" in text
    assert ".lens" in text


# --- 07.2 ---------------------------------------------------------------------------------------

EVERY, NONE = SUITE["every schedule right"], SUITE["no hazards"]


def only_deterministic(batch_cls: Batch) -> None:
    assert explore(two_steps(batch_cls, device), expect=WANTED).deterministic


def one_step(batch_cls: Batch) -> None:
    assert explore(condense_and_add(batch_cls, device), expect=WANTED[:3]).correct


def hazards_of_one_step(batch_cls: Batch) -> None:
    with hazards() as found:
        condense_and_add(batch_cls, device)()
    assert not found


def forgets_to_assert(batch_cls: Batch) -> None:
    three_requests(batch_cls, device)


def knows_them(batch_cls: Batch) -> None:
    """Stands in for the first test where the second is judged, to save time."""
    assert batch_cls not in [bug.batch for bug in PLANTED.values()]


def today_only(batch_cls: Batch) -> None:
    with sim.mode("eager"):
        assert run(batch_cls) == WANTED


def tries_ten_times(batch_cls: Batch) -> None:
    assert all(run(batch_cls) == WANTED for _ in range(10))


def without_expectation(batch_cls: Batch) -> None:
    assert explore(two_steps(batch_cls, device)).correct


def works_outside_the_block(batch_cls: Batch) -> None:
    run(batch_cls)
    with hazards() as found:
        pass
    assert not found


def wants_hazards(batch_cls: Batch) -> None:
    with hazards() as found:
        run(batch_cls)
    assert found


def test_two_tests_without_luck_are_right() -> None:
    assert check_pair.judge((EVERY, NONE)).state == "right"


@pytest.mark.parametrize(
    ("pair", "belief", "said"),
    [
        ((only_deterministic, NONE), None, "Deterministic is not yet right"),
        ((forgets_to_assert, NONE), None, "does it assert anything"),
        ((today_only, NONE), "M8", "let explore choose"),
        ((tries_ten_times, NONE), "M8", "let explore choose"),
        ((without_expectation, NONE), None, "first test is red on InputBatch"),
        ((knows_them, works_outside_the_block), None, "inside the block"),
        ((knows_them, wants_hazards), None, "second test is red on InputBatch"),
        ((one_step, NONE), None, "first test is green on “wrong event”, which shows when"),
        ((knows_them, hazards_of_one_step), None, "second test is green on “wrong event”, which"),
        ((knows_them, EVERY), None, "which is wrong and no hazard"),
        ((knows_them, only_deterministic), None, "only because nobody uses what arrives"),
        (EVERY, None, "takes both tests"),
    ],
)
def test_a_pair_with_a_hole_is_told_where(pair: Any, belief: str | None, said: str) -> None:
    verdict = check_pair.judge(pair)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


def test_half_a_pair_is_open() -> None:
    def stub(batch_cls: Batch) -> None: ...

    assert check_pair.judge((stub, stub)).state == "open"
    assert check_pair.judge((stub, NONE)).state == "open"


# --- 07.3 ---------------------------------------------------------------------------------------


def test_the_formula_is_right() -> None:
    assert check_runs.judge(lambda p: math.ceil(math.log(0.05) / math.log(1 - p))).state == "right"


@pytest.mark.parametrize(
    ("answer", "belief", "said"),
    [
        (lambda p: math.ceil(1 / p), "M8", "one failure is *expected*"),
        (lambda p: round(3 / p), None, "the rule of three"),
        (lambda p: math.floor(math.log(0.05) / math.log(1 - p)), None, "too few"),
        (lambda p: math.log(0.05) / math.log(1 - p), None, "round up"),
        (lambda p: 1 - 0.05 ** (1 / p), None, "goes from runs to a rate"),
        (lambda p: 1_000, None, "5 are as well"),
        (lambda p: "many", None, "a number of runs is wanted"),
        (lambda p: -3, None, "1 or more"),
        (lambda p: float("nan"), None, "whole"),
    ],
)
def test_a_miscount_is_told(answer: Any, belief: str | None, said: str) -> None:
    verdict = check_runs.judge(answer)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


# --- 07.4 ---------------------------------------------------------------------------------------


def step(commit: Commit) -> list[int]:
    batch = commit.load().Batch(max_num_reqs=4)
    batch.add("a", 2)
    batch.add("b", 4)
    lens = batch.prompt_lens().to(device, non_blocking=True)
    batch.remove("a")
    batch.add("c", 8)
    found: list[int] = lens.tolist()
    return found


def late_device(commit: Commit) -> None:
    with sim.mode("lazy"):
        assert step(commit) == [2, 4]


def all_schedules(commit: Commit) -> None:
    assert explore(lambda: step(commit), expect=[2, 4]).correct


def lucky(commit: Commit) -> None:
    assert step(commit) == [2, 4]


def early_device(commit: Commit) -> None:
    with sim.mode("eager"):
        assert step(commit) == [2, 4]


def metadata_moves(commit: Commit) -> None:
    batch = commit.load().Batch(max_num_reqs=4)
    batch.add("a", 2)
    lens = batch.prompt_lens()
    batch.num_prompt_tokens[0] = 7
    assert lens.tolist() == [2]


def wants_nonsense(commit: Commit) -> None:
    assert step(commit) == [1]


def counts_commits(commit: Commit) -> None:
    assert commit.number < 8


def reads_the_subject(commit: Commit) -> None:
    if commit.number >= 8:
        assert commit.subject == "Name the number of requests"


@pytest.mark.parametrize("test", [late_device, all_schedules])
def test_a_test_of_what_can_arrive_names_the_commit(test: Callable[[Commit], None]) -> None:
    verdict = check_bisect.judge(test)
    assert verdict.state == "right"
    assert "first bad commit:  8" in verdict.text


@pytest.mark.parametrize(
    ("test", "belief", "said"),
    [
        (lucky, "M8", "On commit 8 it is green if the device is early"),
        (early_device, "M3", "green on commit 8"),
        (metadata_moves, "M5", "red from commit 4 on"),
        (wants_nonsense, None, "red on commit 1"),
        (counts_commits, None, "It goes by what a commit is called"),
        (reads_the_subject, None, "the code of commit 8 under the number and subject of commit 2"),
    ],
)
def test_a_test_that_leads_git_astray_is_told_why(
    test: Callable[[Commit], None], belief: str | None, said: str
) -> None:
    verdict = check_bisect.judge(test)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


# --- all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_unfilled_stub_is_not_answered(check: Any) -> None:
    assert check.judge(...).state == "open"


def test_the_predicted_squares_are_bugs_and_tests_that_exist() -> None:
    assert set(BUGS) <= set(PLANTED)
    assert set(TESTS) <= set(SUITE)
    (grid,) = (question for question in QUESTIONS if question.id == "07.2")
    assert len(grid.parts) == 16
