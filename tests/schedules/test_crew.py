"""Whoever is fast, slow or gone, a shared search gives the report of the serial one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.schedules import (
    LostWorkerError,
    NondeterministicProgramError,
    Schedule,
    arrivals,
    crew,
    explore,
)
from pinlab.schedules.visit import Visit, Visitor

from . import sent_programs
from .in_turn import InTurn, in_turn
from .random_programs import sources
from .same_report import agree, facts
from .source_text import Sourced

__all__ = ["in_turn"]
Make = Callable[..., InTurn]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limit", [1, 2, 20, 41, 42, 43])
def test_the_report_is_the_same_in_whatever_order_answers_come(
    in_turn: Make, seed: int, limit: int
) -> None:
    program = partial(sent_programs.ring, 5, 1)
    report = agree(program, in_turn(seed), max_schedules=limit)
    assert (report.explored, report.complete) == (min(limit, 42), limit >= 42)


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_the_size_of_the_portions_is_no_matter(in_turn: Make, most: int) -> None:
    agree(partial(sent_programs.ring, 4, 1, 2), in_turn(most, most=most), pieces=2, expect=0)
    agree(partial(sent_programs.ring, 2, 1), in_turn(most, most=most), full=True)


@settings(max_examples=12, suppress_health_check=[*HealthCheck])
@given(sources(1, 4), st.integers(0, 9), st.integers(1, 2))
def test_random_programs_have_one_report(in_turn: Make, source: str, seed: int, part: int) -> None:
    agree(Sourced(source), in_turn(seed), pieces=part, max_schedules=40)


def test_schedules_of_a_lost_worker_are_given_out_again(in_turn: Make) -> None:
    program = partial(sent_programs.ring, 4, 1)
    executor = in_turn(lose=1)
    assert agree(program, executor).explored == 14
    numbers = [portion.number for portion in executor.portions]
    assert numbers == sorted(set(numbers))


def test_a_portion_that_is_lost_again_and_again_is_an_error_that_says_what_is_known(
    in_turn: Make,
) -> None:
    with pytest.raises(LostWorkerError) as caught:
        explore(partial(sent_programs.ring, 4, 1), executor=in_turn(lose=100))
    assert isinstance(caught.value.__cause__, ConnectionError)
    text = str(caught.value)
    assert "ConnectionError: the worker went away. 0 executions" in text
    assert "in the workers' hands were the schedules h" in text
    assert sim.pending() == []


def test_ctrl_c_gives_the_part_so_far_and_calls_the_rest_off(
    in_turn: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = in_turn()
    answers = iter(range(4))
    submitted: list[Future[Any]] = []
    submit, wait = executor.submit, executor.wait

    def interrupted(*args: Any, **options: Any) -> Any:
        if next(answers) == 3:
            raise KeyboardInterrupt
        return wait(*args, **options)

    def noted(*args: Any) -> Future[Any]:
        submitted.append(submit(*args))
        return submitted[-1]

    monkeypatch.setattr(executor, "submit", noted)
    monkeypatch.setattr(crew, "wait", interrupted)
    report = explore(partial(sent_programs.ring, 5, 1), executor=executor)
    assert (report.interrupted, report.complete) == (True, False)
    assert 1 <= report.explored < 42
    assert all(future.done() for future in submitted)
    assert any(future.cancelled() for future in submitted)


def test_a_program_that_is_interrupted_itself_stops_where_the_serial_search_stops(
    in_turn: Make,
) -> None:
    serial = explore(sent_programs.interrupted)
    assert serial.interrupted
    assert facts(explore(sent_programs.interrupted, executor=in_turn())) == facts(serial)


def test_an_executor_that_answers_nothing_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Silent:
        def submit(self, *args: Any) -> Future[Any]:
            return Future()

    monkeypatch.setattr(crew, "PATIENCE", 0.01)
    with pytest.raises(LostWorkerError, match="TimeoutError: no answer for"):
        explore(partial(sent_programs.ring, 3, 1), executor=Silent())


def test_an_executor_that_takes_no_work_is_an_error() -> None:
    class Closed:
        def submit(self, *args: Any) -> Future[Any]:
            raise RuntimeError("cannot schedule new futures after shutdown")

    with pytest.raises(LostWorkerError, match="cannot schedule new futures after shutdown"):
        explore(partial(sent_programs.ring, 3, 1), executor=Closed())


def test_an_executor_that_gives_no_future_is_named() -> None:
    class Odd:
        def submit(self, *args: Any) -> None:
            return None

    with pytest.raises(TypeError, match=r"submit\(\) gave None; it must give a concurrent"):
        explore(partial(sent_programs.ring, 3, 1), executor=Odd())


def test_work_that_is_called_off_without_notice_is_not_waited_for() -> None:
    class Leaving:
        def __init__(self) -> None:
            self.open = True

        def submit(self, *args: Any) -> Future[Any]:
            if not self.open:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self.open = False
            future: Future[Any] = Future()
            future.cancel()  # as a pool's shutdown(cancel_futures=True) does
            return future

    with pytest.raises(LostWorkerError, match="cannot schedule new futures after shutdown"):
        explore(partial(sent_programs.ring, 3, 1), executor=Leaving())


def test_what_differs_elsewhere_under_a_later_schedule_only_is_told(
    in_turn: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = in_turn()
    wait = executor.wait

    def elsewhere(*args: Any, **options: Any) -> Any:
        with monkeypatch.context() as there:
            there.setattr(sent_programs, "START", 0)
            return wait(*args, **options)

    monkeypatch.setattr(sent_programs, "START", 7)
    monkeypatch.setattr(crew, "wait", elsewhere)
    with pytest.raises(NondeterministicProgramError, match=r"gave \[0\] there and \[7\] here"):
        explore(sent_programs.beginning, executor=executor)


def test_a_difference_that_begins_after_the_first_outcomes_is_found_later(
    in_turn: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, away, order = in_turn(), list[bool](), list[Schedule]()
    wait, visit = executor.wait, Visitor.__call__

    def noted(self: Visitor, schedule: Schedule) -> Visit:
        order.append(schedule)
        return visit(self, schedule)

    def elsewhere(*args: Any, **options: Any) -> Any:
        away.append(True)
        answered = wait(*args, **options)
        away.clear()
        return answered

    def differing(self: Visitor, schedule: Schedule) -> Visit:
        seen = visit(self, schedule)
        return replace(seen, other_path=True) if away and schedule in late else seen

    program = partial(sent_programs.ring, 5, 1)
    monkeypatch.setattr(Visitor, "__call__", noted)
    explore(program)
    late = order[arrivals.COMPARED :]
    assert len(late) > 20
    monkeypatch.setattr(crew, "wait", elsewhere)
    monkeypatch.setattr(Visitor, "__call__", differing)
    with pytest.raises(NondeterministicProgramError, match="it goes on in another way"):
        explore(program, executor=executor)
