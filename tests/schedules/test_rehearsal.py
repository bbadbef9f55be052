"""Programs that differ from run to run are refused, with a word on what differed."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.schedules import NondeterministicProgramError, explore


def refused(program: Any) -> str:
    with pytest.raises(NondeterministicProgramError) as caught:
        explore(program)
    assert sim.pending() == []
    return str(caught.value)


def test_unseeded_random_numbers() -> None:
    def program() -> Any:
        return random.random()

    message = refused(program)
    assert "the first returned 0." in message
    assert "the second 0." in message
    assert "Seed random numbers" in message


def test_unseeded_torch_numbers_are_told_by_their_value() -> None:
    assert "the first returned tensor" in refused(lambda: torch.rand(1))


def test_seeded_numbers_on_host_and_device_are_fine() -> None:
    def program() -> Any:
        torch.manual_seed(0)
        return torch.rand(2, device="sim").tolist(), torch.rand(2)

    assert explore(program).deterministic


def test_device_numbers_start_from_the_same_state_each_time() -> None:
    assert explore(lambda: torch.rand(2, device="sim").tolist()).deterministic


def test_a_wall_clock() -> None:
    assert "the first returned" in refused(lambda: time.time_ns())


def test_a_branch_on_chance_names_both_lines() -> None:
    turns = iter(range(10))

    def program() -> Any:
        row = torch.zeros(1, pin_memory=True)
        if next(turns) % 2:
            row.fill_(1)
        else:
            row.fill_(2)
        return row.tolist()

    message = refused(program)
    assert "`if next(turns) % 2:`" in message
    assert "the first went on with test_rehearsal.py:" in message
    assert "`row.fill_(2)`, the second with" in message
    assert "`row.fill_(1)`" in message


def test_a_different_operation_is_named() -> None:
    turns = iter(range(10))

    def program() -> Any:
        there = torch.zeros(1, device="sim")
        return (torch.sin if next(turns) % 2 else torch.cos)(there).tolist()

    message = refused(program)
    assert "aten.cos.default on stream 0" in message
    assert "aten.sin.default on stream 0" in message


def test_one_that_goes_on_longer() -> None:
    turns = iter(range(10))

    def program() -> Any:
        for _ in range(next(turns)):
            pass
        return 0

    assert "the first went on with" in refused(program)


def test_a_thread_that_is_left_running() -> None:
    stop = threading.Event()

    def program() -> Any:
        threading.Thread(target=stop.wait, name="left over", daemon=True).start()
        return 0

    try:
        assert "left a thread running: left over; join it" in refused(program)
    finally:
        stop.set()


def test_a_thread_that_is_joined_is_fine() -> None:
    def program() -> Any:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        return 0

    assert explore(program).deterministic


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_second_thread_that_uses_the_device_is_refused() -> None:
    def program() -> Any:
        thread = threading.Thread(target=lambda: torch.zeros(1, device="sim"))
        thread.start()
        thread.join()
        return 0

    with pytest.raises(sim.SimError, match="a second thread uses the device"):
        explore(program)


def test_a_pageable_buffer_outside_that_the_program_changes() -> None:
    outside = np.zeros(1)

    def program() -> Any:
        outside[0] += 1
        return outside

    message = refused(program)
    assert "the first returned array([1.]), the second array([2.])" in message
    assert "only pinned and device memory is put back" in message


def test_one_that_differs_only_in_the_schedules_that_follow() -> None:
    turns = iter(range(100))

    def program() -> Any:
        row = torch.zeros(1, pin_memory=True)
        if next(turns) < 3:  # the two rehearsals and the reference
            there = row.to("sim", non_blocking=True)
            row.fill_(1)
            return there.tolist()
        return [0.0]

    assert "nothing of stream 0 can run at host step 3: its queue is empty" in refused(program)


def test_an_outcome_that_cannot_be_compared() -> None:
    with pytest.raises(TypeError, match="cannot compare outcomes of type object"):
        explore(lambda: object())


def test_an_endless_host_loop_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from pinlab.schedules import execution

    monkeypatch.setattr(execution, "TOO_LONG", 500)

    def program() -> Any:
        while True:
            pass

    with pytest.raises(sim.SimError, match="still running after 500 host lines"):
        explore(program)


def test_a_stream_that_is_held_outside_is_refused() -> None:
    with sim.hold():
        torch.zeros(1, device="sim")
        with pytest.raises(sim.HeldStreamError, match=r"held at test_rehearsal\.py"):
            explore(lambda: 0)


def test_a_failure_from_before_is_heard_of_first() -> None:
    there = torch.zeros(1, device="sim")
    with sim.mode("lazy"):
        there.index_select(0, torch.tensor([9], device="sim"))
    with pytest.raises(sim.QueuedOperationError, match="index_select"):
        explore(lambda: 0)
    assert explore(lambda: 0).deterministic
