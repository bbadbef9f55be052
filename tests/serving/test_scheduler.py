"""Which requests share a step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlab.serving.request import CachedRequestState
from pinlab.serving.scheduler import Scheduler


def plans(scheduler: Scheduler, lengths: list[int]) -> list[dict[str, int]]:
    """Serve prompts of these lengths, named by number; the plan of every step."""
    for number, length in enumerate(lengths):
        scheduler.add_request(CachedRequestState(str(number), [1] * length))
    found = []
    while scheduler.has_requests:
        plan = scheduler.schedule()
        assert plan.step == len(found)
        assert [r.req_id for r in plan.requests] == list(plan.num_scheduled_tokens)
        scheduler.update_after_schedule(plan)
        found.append(plan.num_scheduled_tokens)
        assert len(found) < 1000, "the scheduler makes no progress"
    return found


def test_whole_prompts_are_taken_in_order_up_to_the_limits() -> None:
    scheduler = Scheduler(2, 10, chunked_prefill=False)
    assert plans(scheduler, [4, 6, 1, 9, 2]) == [{"0": 4, "1": 6}, {"2": 1, "3": 9}, {"4": 2}]


def test_a_prompt_that_does_not_fit_any_more_waits_and_is_not_overtaken() -> None:
    scheduler = Scheduler(4, 10, chunked_prefill=False)
    assert plans(scheduler, [8, 5, 1]) == [{"0": 8}, {"1": 5, "2": 1}]


def test_long_prompts_are_cut_into_chunks() -> None:
    scheduler = Scheduler(4, 10, chunked_prefill=True)
    assert plans(scheduler, [4, 20, 3]) == [{"0": 4, "1": 6}, {"1": 10}, {"1": 4, "2": 3}]


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    max_num_reqs=st.integers(1, 4),
    budget=st.integers(1, 40),
    chunked=st.booleans(),
)
def test_every_token_is_scheduled_once_and_no_limit_is_passed(
    lengths: list[int], max_num_reqs: int, budget: int, chunked: bool
) -> None:
    if not chunked:
        budget = max(budget, *lengths)
    steps = plans(Scheduler(max_num_reqs, budget, chunked), lengths)
    for step in steps:
        assert 1 <= len(step) <= max_num_reqs
        assert sum(step.values()) <= budget
        assert min(step.values()) >= 1
    for number, length in enumerate(lengths):
        shares = [step[str(number)] for step in steps if str(number) in step]
        assert sum(shares) == length
        assert chunked or len(shares) == 1
    first = [min(k for k, step in enumerate(steps) if str(n) in step) for n in range(len(lengths))]
    assert first == sorted(first)


def test_a_prompt_that_no_step_could_take_whole_is_refused() -> None:
    scheduler = Scheduler(2, 10, chunked_prefill=False)
    with pytest.raises(ValueError, match="'a': 11 tokens must be in one step, and a step takes 10"):
        scheduler.add_request(CachedRequestState("a", [1] * 11))
    assert not scheduler.has_requests


def test_a_step_takes_at_least_one_token() -> None:
    with pytest.raises(ValueError, match="max_num_batched_tokens=0; at least 1"):
        Scheduler(2, 0, chunked_prefill=True)


def test_a_step_takes_at_least_one_request() -> None:
    with pytest.raises(ValueError, match="max_num_reqs=0; at least 1"):
        Scheduler(max_num_reqs=0, max_num_batched_tokens=1, chunked_prefill=True)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_that_has_run_already_is_refused_instead_of_waiting_for_ever(
    chunked: bool,
) -> None:
    scheduler = Scheduler(max_num_reqs=2, max_num_batched_tokens=8, chunked_prefill=chunked)
    request = CachedRequestState("a", [7, 8, 9])
    scheduler.add_request(request)
    scheduler.update_after_schedule(scheduler.schedule())
    with pytest.raises(ValueError, match="'a': 3 of its 3 tokens are computed, so nothing is left"):
        scheduler.add_request(request)
    assert not scheduler.has_requests
