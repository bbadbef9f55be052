"""Checks of lesson 03: right answers pass, wrong ones meet their belief and a schedule."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.classroom import check_03_1, check_03_2, check_03_3, check_03_4
from pinlab.classroom.checks.fetch import fetch_both
from pinlab.classroom.checks.lesson_03 import NEW, OLD, rewrite_row
from pinlab.classroom.checks.reuse import WANTED, upload_both
from pinlab.classroom.checks.verdict import Verdict
from pinlab.device import pick_device
from pinlab.schedules import replay

device = pick_device()
gpu = torch.get_device_module(device)


@pytest.fixture(autouse=True)
def _fresh_device() -> None:
    sim.reset()


def assert_wrong(verdict: Verdict, belief: str | None, *words: str) -> None:
    assert verdict.state == "wrong", verdict
    assert verdict.belief == belief, verdict
    for word in words:
        assert word in str(verdict)


def test_unfilled_stubs_are_not_answered() -> None:
    def stub(*_: Any): ...

    for check, answer in (
        (check_03_1, stub),
        (check_03_2, ...),
        (check_03_3, stub),
        (check_03_4, (stub, stub)),
        (check_03_4, (lambda result: result, stub)),
    ):
        assert check.judge(answer).state == "open"


def test_every_check_has_graduated_hints() -> None:
    for check in (check_03_1, check_03_2, check_03_3, check_03_4):
        assert len(check.hints) >= 2


# -- 03.1 be the copy engine ----------------------------------------------------------------------


def engine(at: int | None) -> Callable[[torch.Tensor, torch.Tensor], None]:
    def corrupt(row: torch.Tensor, there: torch.Tensor) -> None:
        there.copy_(row, non_blocking=True)
        for place, number in enumerate(NEW):
            if place == at:
                sim.step()
            row[place] = number
        if at == 3:
            sim.step()

    return corrupt


@pytest.mark.parametrize("at", [1, 2])
def test_a_copy_between_two_writes_is_the_moment(at: int) -> None:
    verdict = check_03_1.judge(engine(at))
    assert verdict.state == "right"
    assert str([*NEW[:at], *OLD[at:]]) in verdict.text


def test_a_copy_before_or_after_all_writes_is_not() -> None:
    assert_wrong(check_03_1.judge(engine(0)), "M8", "[3, 5, 2]", "lucky")
    assert_wrong(check_03_1.judge(engine(3)), "M14", "[7, 4, 6]", "after the last write")
    assert_wrong(check_03_1.judge(engine(None)), "M14", "[7, 4, 6]", "only at the end")


def test_other_host_lines_are_noticed() -> None:
    def shortened(row: torch.Tensor, there: torch.Tensor) -> None:
        there.copy_(row, non_blocking=True)
        row[0] = 7
        sim.step()

    def blocking(row: torch.Tensor, there: torch.Tensor) -> None:
        row[0] = 7
        there.copy_(row)
        row[1], row[2] = 4, 6

    def at_once(row: torch.Tensor, there: torch.Tensor) -> None:
        there.copy_(row, non_blocking=True)
        row.copy_(torch.tensor(NEW))

    def waiting(row: torch.Tensor, there: torch.Tensor) -> None:
        there.copy_(row, non_blocking=True)
        row[0] = 7
        gpu.synchronize()
        row[1] = 4
        row[2] = 6

    assert_wrong(check_03_1.judge(shortened), None, "Keep the host's lines", "[7, 5, 2]")
    assert_wrong(check_03_1.judge(at_once), None, "each in a line of its own")
    assert_wrong(check_03_1.judge(blocking), None, "The host waited")
    assert_wrong(check_03_1.judge(waiting), None, "The host waited")


def test_a_mixed_row_that_was_never_overtaken_by_the_host_is_refused() -> None:
    def written_before(row: torch.Tensor, there: torch.Tensor) -> None:
        row[0] = 7
        there.copy_(row, non_blocking=True)
        sim.step()
        row[1] = 4
        row[2] = 6

    def one_line_more(row: torch.Tensor, there: torch.Tensor) -> None:
        there.copy_(row, non_blocking=True)
        row.fill_(0)
        sim.step()
        row[0] = 7
        row[1] = 4
        row[2] = 6

    assert_wrong(check_03_1.judge(written_before), None, "before the copy was queued")
    assert_wrong(check_03_1.judge(one_line_more), None, "[0, 0, 0]", "never make of the row")


def test_an_error_in_the_learner_s_function_is_explained() -> None:
    def misspelt(row: torch.Tensor, there: torch.Tensor) -> None:
        sim.steps()  # type: ignore[attr-defined]

    assert_wrong(check_03_1.judge(misspelt), None, "AttributeError")


# -- 03.2 list what can arrive --------------------------------------------------------------------

ALL = [[3, 5, 2], [7, 5, 2], [7, 4, 2], [7, 4, 6]]


def test_all_four_rows_in_any_order_and_form_are_right() -> None:
    assert check_03_2.judge(ALL).state == "right"
    assert check_03_2.judge([tuple(row) for row in ALL[::-1]]).state == "right"
    assert check_03_2.judge([torch.tensor(row) for row in ALL]).state == "right"
    assert check_03_2.judge(torch.tensor(ALL)).state == "right"
    assert check_03_2.judge([np.array(row) for row in ALL]).state == "right"


def test_a_missing_row_is_named_with_a_schedule_that_replays_to_it() -> None:
    for belief, answer in (("M3", [OLD]), ("M14", [OLD, NEW]), ("M8", ALL[1:])):
        verdict = check_03_2.judge(answer)
        assert_wrong(verdict, belief)
        schedule = verdict.text.split("“")[1].split("”")[0]
        row = replay(rewrite_row, schedule)
        assert row not in answer
        assert str(row) in verdict.text


def test_an_impossible_row_and_nonsense_are_told_apart() -> None:
    assert_wrong(check_03_2.judge([[3, 4, 2]]), None, "No schedule brings [3, 4, 2]")
    assert_wrong(check_03_2.judge([3, 5, 2]), None, "Each row is a list of three numbers")
    assert_wrong(check_03_2.judge([[3, [5], 2]]), None, "Each row is a list of three numbers")
    assert_wrong(check_03_2.judge("all"), None, "Give a list of rows")
    assert check_03_2.judge([*ALL[:3], ...]).state == "open"


# -- 03.3 repair an upload ------------------------------------------------------------------------

Act = Callable[[Any, torch.Tensor, torch.Tensor, torch.Tensor], object]


def nothing(done: Any, *_: Any) -> None:
    pass


def on_event(done: Any, *_: Any) -> None:
    done.record()
    done.synchronize()


def stream_waits(done: Any, *_: Any) -> None:
    done.record()
    done.wait()


def unrecorded(done: Any, *_: Any) -> None:
    done.synchronize()


def records(done: Any, *_: Any) -> None:
    done.record()


def waits(done: Any, *_: Any) -> None:
    done.synchronize()


def polling(done: Any, *_: Any) -> None:
    done.record()
    while not done.query():
        pass


def everything(done: Any, *_: Any) -> None:
    gpu.synchronize()


def sleeps(done: Any, *_: Any) -> None:
    time.sleep(0.001)


def clones_destination(done: Any, row: Any, first: Any, second: Any) -> None:
    first.clone()


def uploads(between: Act, after: Act) -> Callable[..., None]:
    def upload_twice(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        done = gpu.Event()
        row.fill_(1)
        first.copy_(row, non_blocking=True)
        between(done, row, first, second)
        row.fill_(2)
        second.copy_(row, non_blocking=True)
        after(done, row, first, second)

    return upload_twice


def test_a_polling_loop_is_too_much_to_prove_and_the_check_says_so() -> None:
    assert_wrong(check_03_3.judge(uploads(polling, polling)), None, "let synchronize() wait")


@pytest.mark.parametrize("wait", [on_event, everything])
def test_a_wait_after_each_copy_is_right(wait: Act) -> None:
    assert check_03_3.judge(uploads(wait, wait)).state == "right"


def test_a_second_buffer_of_one_s_own_is_right_too() -> None:
    def cloned(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        row.fill_(1)
        first.copy_(row.clone(), non_blocking=True)
        row.fill_(2)
        second.copy_(row.clone(), non_blocking=True)

    assert check_03_3.judge(cloned).state == "right"


@pytest.mark.parametrize(
    ("between", "after", "belief", "words"),
    [
        (nothing, nothing, "M3", "Nothing waits for the copies"),
        (sleeps, sleeps, "M3", "Nothing waits for the copies"),
        (clones_destination, clones_destination, "M3", "Nothing waits for the copies"),
        (unrecorded, unrecorded, "M3", "Nothing waits for the copies"),
        (stream_waits, stream_waits, "M7", "The host goes straight on"),
        (on_event, nothing, "M11", "Nothing waits for the second copy"),
        (nothing, everything, "M11", "too late for the first copy"),
        (records, waits, "M11", "only if it was recorded behind it"),
    ],
)
def test_wrong_repairs_meet_their_belief_and_a_schedule_that_breaks_them(
    between: Act, after: Act, belief: str, words: str
) -> None:
    answer = uploads(between, after)
    verdict = check_03_3.judge(answer)
    assert_wrong(verdict, belief, words)
    schedule = verdict.text.split("“")[1].split("”")[0]
    assert replay(upload_both(answer), schedule, trace=[answer]) != WANTED


def test_a_second_row_leaves_the_first_to_the_caller() -> None:
    def keeps_both(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        row.fill_(1)
        first.copy_(row, non_blocking=True)
        other = torch.full((2,), 2, pin_memory=True)
        second.copy_(other, non_blocking=True)

    assert_wrong(check_03_3.judge(keeps_both), "M12", "the caller writes it")


def test_without_the_copies_or_with_blocking_ones_the_exercise_is_not_done() -> None:
    def filled(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        first.fill_(1)
        second.fill_(2)

    def blocking(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        row.fill_(1)
        first.copy_(row)
        row.fill_(2)
        second.copy_(row)

    assert_wrong(check_03_3.judge(filled), None, "keep both copies")
    assert_wrong(check_03_3.judge(blocking), None, "Let both be non_blocking")


def test_wrong_numbers_and_failures_are_no_matter_of_schedules() -> None:
    def swapped(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        uploads(on_event, on_event)(row, second, first)

    def fails_late(row: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> None:
        uploads(nothing, nothing)(row, first, second)
        if first.tolist() != [1, 1]:
            raise RuntimeError("not what I sent")

    assert_wrong(check_03_3.judge(swapped), None, "Even if each copy runs at once")
    assert_wrong(check_03_3.judge(fails_late), None, "not what I sent")
    assert_wrong(check_03_3.judge(7), None, "takes the function itself")


# -- 03.4 fetch a result --------------------------------------------------------------------------


def start(result: torch.Tensor) -> Any:
    out = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)
    out.copy_(result, non_blocking=True)
    return out, gpu.current_stream().record_event()


def finish(pending: Any) -> Any:
    out, done = pending
    done.synchronize()
    return out.tolist()


def test_an_event_waited_for_in_finish_is_right_with_either_way_to_download() -> None:
    def to_cpu(result: torch.Tensor) -> Any:
        return result.to("cpu", non_blocking=True), gpu.current_stream().record_event()

    assert check_03_4.judge((start, finish)).state == "right"
    assert check_03_4.judge((to_cpu, finish)).state == "right"
    assert check_03_4.judge((start, lambda pending: (gpu.synchronize(), pending[0])[1])).state == (
        "right"
    )


def test_the_numbers_may_come_in_any_usual_form() -> None:
    for form in (tuple, list, lambda out: list(out.numpy()), lambda out: out.double().numpy()):

        def shaped(pending: Any, form: Callable[[torch.Tensor], Any] = form) -> Any:
            out, done = pending
            done.synchronize()
            return form(out)

        assert check_03_4.judge((start, shaped)).state == "right"


def test_looking_before_the_download_has_written_is_broken_by_a_schedule() -> None:
    def hasty(pending: Any) -> Any:
        return pending[0].tolist()

    verdict = check_03_4.judge((start, hasty))
    assert_wrong(verdict, "M3", "what the buffer held before")
    schedule = verdict.text.split("“")[1].split("”")[0]
    assert replay(fetch_both(start, hasty), schedule, trace=[start, hasty]) != [6, 10, 4]


def test_a_stream_that_waits_for_the_download_does_not_hold_up_the_host() -> None:
    def lets_the_stream_wait(pending: Any) -> Any:
        out, done = pending
        done.wait()
        return out.tolist()

    verdict = check_03_4.judge((start, lets_the_stream_wait))
    assert_wrong(verdict, "M7", "The host goes straight on", "what the buffer held before")


def test_a_pageable_target_makes_start_wait() -> None:
    def pageable(result: torch.Tensor) -> Any:
        return torch.empty(3, dtype=torch.int64).copy_(result, non_blocking=True)

    assert_wrong(check_03_4.judge((pageable, lambda out: out.tolist())), "M5", "start() waited")


def test_numbers_that_were_written_down_are_no_download() -> None:
    def constant(pending: Any) -> Any:
        finish(pending)
        return [6, 10, 4]

    assert_wrong(check_03_4.judge((start, constant)), None, "Of a result of [9, 15, 6]")


def test_asking_the_device_anew_is_noticed() -> None:
    def both(result: torch.Tensor) -> Any:
        start(result)
        return result

    asks = (lambda result: result, lambda result: result.tolist())
    assert_wrong(check_03_4.judge(asks), None, "queues no download")
    assert_wrong(check_03_4.judge((both, lambda r: r.tolist())), None, "the device has gone on")
    assert_wrong(check_03_4.judge(start), None, "takes both functions")
