"""Replaying a token, here and in another process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import Raised, Schedule, ScheduleError, explore, replay
from tools.nursery import run_script


def two_streams() -> Any:
    gpu = torch.get_device_module("sim")
    row = torch.tensor([5, 7], pin_memory=True)
    there = torch.zeros(2, dtype=torch.int64, device="sim")
    gpu.synchronize()
    with gpu.stream(gpu.Stream()):
        there.add_(row.to("sim", non_blocking=True))
    row[1] = 40
    there.mul_(10)
    gpu.synchronize()
    return there.tolist()


def test_each_schedule_of_a_report_replays_to_its_outcome() -> None:
    report = explore(two_streams)
    assert len(report.outcomes) == 4
    for outcome, ways in report.outcomes.items():
        for schedule in ways:
            assert replay(two_streams, schedule) == outcome.value
            assert replay(two_streams, str(schedule)) == outcome.value


def test_tokens_mean_the_same_in_another_process(tmp_path: Path) -> None:
    report = explore(two_streams)
    tokens = {str(ways[0]): outcome.value for outcome, ways in report.outcomes.items()}
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from pinlab import sim\n"
        "sim.install()\n"
        "from pinlab.schedules import explore, replay\n"
        "from tests.schedules.test_replay import two_streams\n"
        f"print({{token: replay(two_streams, token) for token in {list(tokens)!r}}})\n"
        "print(sorted(str(w) for ways in explore(two_streams).outcomes.values() for w in ways))\n"
    )
    done = run_script(code, cwd=tmp_path, check=True)
    values, schedules = done.stdout.splitlines()
    assert eval(values) == tokens
    assert eval(schedules) == sorted(str(w) for ways in report.outcomes.values() for w in ways)


def test_an_exception_comes_back_as_a_value() -> None:
    def program() -> None:
        raise ValueError("row 3")

    assert replay(program, "h") == Raised(ValueError, "row 3")


def short() -> Any:
    row = torch.tensor([5], pin_memory=True)
    there = row.to("sim", non_blocking=True)
    row[0] = 6
    return there.tolist()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("h1.d1", "schedule h1.d1: nothing of stream 0 can run at host step 1: its queue is empty"),
        ("h2.d2", "nothing of stream 0 can run at host step 2: its queue is empty"),
        ("h2.s3d1", "nothing of stream 3 can run at host step 2: there are 1 streams so far"),
        ("h99.d1", "the program never came to host step 99; it has 4 host steps"),
        ("h2.q7.d1", "the program never came to host step 2, moment 7 within it"),
    ],
)
def test_a_schedule_that_does_not_fit_says_why(token: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        replay(short, token)
    assert sim.pending() == []


def test_a_step_of_a_held_or_waiting_stream_says_why() -> None:
    gpu = torch.get_device_module("sim")

    def held() -> None:
        side, row = gpu.Stream(), torch.tensor([5], pin_memory=True)
        with sim.hold():
            row.to("sim", non_blocking=True)
            side.wait_stream(gpu.current_stream())
            with gpu.stream(side):
                row.to("sim", non_blocking=True)
            row[0] = 1

    with pytest.raises(ScheduleError, match=r"stream 0 can run .* held at test_replay.py:\d+"):
        replay(held, "h3.d1")
    with pytest.raises(ScheduleError, match=r"stream 1 can run .* it waits for stream 0"):
        replay(held, "h6.s1d1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replay(short, "h2.z"), "'z' in schedule 'h2.z'"),
        (lambda: replay(short, "h", pieces=0), "pieces=0"),
        (lambda: replay(short, "h", granularity="word"), "granularity='word'"),
        (lambda: explore(short, pieces=1.5), "pieces=1.5"),
        (lambda: explore(short, max_schedules=0), "max_schedules=0"),
        (lambda: explore(short, granularity="byte"), "known are 'line' and 'opcode'"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("program", [None, 3, "short", [5]])
def test_a_program_must_be_a_function(program: Any) -> None:
    with pytest.raises(TypeError, match="program must be a function without arguments"):
        explore(program)


def test_code_that_cannot_be_traced_is_refused() -> None:
    with pytest.raises(TypeError, match="has no Python code"):
        explore(print)
    with pytest.raises(TypeError, match="has no Python file"):
        explore(short, trace=[sys])
    with pytest.raises(TypeError, match="has no Python code"):
        explore(short, trace=[len])


def test_under_cuda_it_says_that_it_needs_the_simulated_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PINLAB_DEVICE", "cuda")
    with pytest.raises(sim.SimError, match="need the simulated device"):
        explore(short)
    with pytest.raises(sim.SimError, match="need the simulated device"):
        replay(short, "h")


def test_exploring_within_an_explored_program_is_refused() -> None:
    def program() -> Any:
        return str(explore(short))

    (outcome,) = explore(program).outcomes
    assert outcome.value == Raised(
        sim.SimError, "explore and replay cannot be used inside an explored program"
    )


def test_a_schedule_object_or_its_token() -> None:
    assert replay(short, Schedule.parse("h2.d1")) == replay(short, "h2.d1") == [5]
