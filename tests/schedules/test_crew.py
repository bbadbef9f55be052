"""Whoever is fast, slow or gone, a shared search gives the report of the serial one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.schedules import LostWorkerError, crew, explore

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
