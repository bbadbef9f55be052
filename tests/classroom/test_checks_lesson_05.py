"""Lesson 05's checks: the solution passes, named wrong answers fail each with its own message."""

from __future__ import annotations

import pytest
import torch

from pinlab.classroom.checks.lesson_05 import CHECKS, ONLY_B, RIGHT, around, two_steps
from pinlab.schedules import explore, replay
from pinlab.serving import CachedRequestState, InputBatch, PoolingMetadata

check_alias, check_token, check_harmless = CHECKS


class Slice(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        return PoolingMetadata(self.num_prompt_tokens_cpu_tensor[: self.num_reqs], self.req_ids)


class Face(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        lens = torch.from_numpy(self.num_prompt_tokens[: self.num_reqs])
        return PoolingMetadata(lens, self.req_ids)


class Copied(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        lens = torch.from_numpy(self.num_prompt_tokens[: self.num_reqs].copy())
        return PoolingMetadata(lens, self.req_ids)


class TooMany(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        return PoolingMetadata(self.num_prompt_tokens_cpu_tensor, self.req_ids)


class NoReturn(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:  # type: ignore[return]
        PoolingMetadata(self.num_prompt_tokens_cpu_tensor[: self.num_reqs], self.req_ids)


class BareTensor(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        return self.num_prompt_tokens_cpu_tensor[: self.num_reqs]  # type: ignore[return-value]


def add_only(batch: InputBatch) -> None:
    batch.add_request(CachedRequestState("d", [80]))


def swap(batch: InputBatch) -> None:
    batch.swap_states(0, 1)


def wait_first(batch: InputBatch) -> None:
    torch.get_device_module(batch.device).synchronize()
    batch.num_prompt_tokens[1] = 9


def wait_for_no_reason(batch: InputBatch) -> None:
    torch.get_device_module(batch.device).current_stream().synchronize()
    batch.add_request(CachedRequestState("d", [80]))


def other_rows(batch: InputBatch) -> None:
    batch.num_prompt_tokens = batch.num_prompt_tokens + 1


def nothing(batch: InputBatch) -> None:
    batch.num_reqs  # noqa: B018 - looks, changes nothing


@pytest.mark.parametrize("batch_cls", [Slice, Face])
def test_every_alias_is_right_for_the_first_exercise(batch_cls: type[InputBatch]) -> None:
    assert check_alias.judge(batch_cls).state == "right"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Copied, "shares no byte"),
        (TooMany, "should be [2, 4, 8]"),
        (NoReturn, "returns NoneType"),
        (BareTensor, "returns Tensor"),
        (3, "subclass of InputBatch"),
    ],
)
def test_wrong_aliases_have_their_own_words(answer: object, said: str) -> None:
    verdict = check_alias.judge(answer)
    assert verdict.state == "wrong"
    assert said in verdict.text


def test_the_token_of_each_outcome_gets_its_verdict() -> None:
    report = explore(two_steps, expect=RIGHT)
    tokens = {tuple(value.value): str(ways[0]) for value, ways in report.outcomes.items()}
    assert check_token.judge(tokens[tuple(ONLY_B)]).state == "right"
    assert "before condense" in check_token.judge(tokens[tuple(RIGHT)]).text
    assert "after add_request" in check_token.judge("h").text
    assert "no schedule" in check_token.judge("h2.d1").text
    assert "no schedule" in check_token.judge("abc").text
    assert "keys of the game" in check_token.judge("hhhdhh").text
    ways = report.outcomes[ONLY_B]
    assert check_token.judge(ways[0]).state == "right"
    assert "a list of schedules" in check_token.judge(ways).text


def test_a_step_that_spoils_is_told_how_to_replay_it() -> None:
    verdict = check_harmless.judge(swap)
    token = verdict.see.split('"')[1]
    assert verdict.see.startswith(f'replay(around(swap), "{token}")')
    assert replay(around(swap), token) != RIGHT


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (add_only, "right", "Row 3 changed"),
        (swap, "wrong", "rewrites a row"),
        (nothing, "wrong", "as they were"),
        (other_rows, "wrong", "bound to another array"),
        (wait_first, "wrong", "your step waits for the device"),
        (wait_for_no_reason, "wrong", "your step waits for the device"),
    ],
)
def test_a_next_step_is_judged_over_all_schedules(answer: object, state: str, said: str) -> None:
    verdict = check_harmless.judge(answer)
    assert (verdict.state, said in verdict.text) == (state, True), verdict.text


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_unfilled_stub_is_not_answered(check: object) -> None:
    assert check.judge(...).state == "open"  # type: ignore[attr-defined]
