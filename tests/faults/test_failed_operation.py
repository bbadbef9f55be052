"""An operation that fails on the queue: heard of once, at the next wait, whichever that is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import Raised, explore
from pinlab.sim.modes import MODES
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def fail() -> str:
    """Queue an operation that fails; return its line as the error will name it."""

    def work() -> None:
        raise ArithmeticError("divided by nothing")

    accelerator().submit(Operation("bad", "kernel", gpu.current_stream().queue, work))
    return f"test_failed_operation.py:{sys._getframe().f_lineno - 1}"


class SilentError(Exception):
    """Its own text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_that_has_no_text_is_named_by_its_operation_and_line(mode: str) -> None:
    def work(row: torch.Tensor) -> torch.Tensor:
        raise SilentError

    def program() -> None:
        there = torch.ones(1, device="sim")
        sim.kernel(work, there, there)
        gpu.synchronize()

    with sim.mode(mode), pytest.raises(sim.QueuedOperationError, match=r"work failed .*\.py:\d+: "):
        program()
    assert Raised(SilentError()) == Raised(SilentError, "<exception str() failed>")


def waits(there: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Every call that waits for the current stream."""
    event = gpu.current_stream().record_event()
    return {
        "synchronize": gpu.synchronize,
        "stream.synchronize": gpu.current_stream().synchronize,
        "event.synchronize": event.synchronize,
        "item": there[0].item,
        "tolist": there.tolist,
        "cpu": there.cpu,
        "print": lambda: repr(there),
        "bool": lambda: bool(there[0]),
        "nonzero": there.nonzero,
        "blocking upload": lambda: there.copy_(torch.ones(2)),
        "blocking download": lambda: torch.ones(2).copy_(there),
    }


@pytest.mark.parametrize("mode", MODES)
def test_every_wait_hears_of_a_failure_and_the_next_is_clean(mode: str) -> None:
    with sim.mode(mode):
        there = torch.ones(2, device="sim")
        for name in waits(there):
            there.fill_(1)
            line = fail()
            there.add_(1)
            wait = waits(there)[name]
            with pytest.raises(sim.QueuedOperationError, match=f"bad failed .* {line}"):
                wait()
            wait()
            assert there.tolist() in ([2, 2], [1, 1]), name  # [1, 1]: the upload came through
            gpu.synchronize()


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_that_waits_for_the_failed_one_goes_on_and_its_wait_hears_of_it(mode: str) -> None:
    with sim.mode(mode):
        first, second = gpu.Stream(), gpu.Stream()
        there = torch.ones(2, device="sim")
        gpu.synchronize()
        with gpu.stream(first):
            line = fail()
            there.add_(1)
            event = first.record_event()
        second.wait_event(event)
        with gpu.stream(second):
            there.mul_(10)
        with pytest.raises(sim.QueuedOperationError, match=line):
            second.synchronize()
        for clean in (first.synchronize, second.synchronize, event.synchronize, gpu.synchronize):
            clean()
        assert event.query()
        assert there.tolist() == [20, 20]


@pytest.mark.parametrize("mode", MODES)
def test_failures_of_two_streams_are_both_heard_of(mode: str) -> None:
    with sim.mode(mode):
        streams = [gpu.Stream(), gpu.Stream()]
        for stream in streams:
            with gpu.stream(stream):
                fail()
        for _ in streams:
            with pytest.raises(sim.QueuedOperationError, match="bad failed"):
                gpu.synchronize()
        gpu.synchronize()


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_behind_a_hold_and_at_the_end_of_a_mode_is_kept_for_the_next_wait(
    mode: str,
) -> None:
    with sim.mode(mode), sim.hold():
        line = fail()
        after = torch.ones(2, device="sim") + 1
    with pytest.raises(sim.QueuedOperationError, match=line):
        gpu.synchronize()
    assert after.tolist() == [2, 2]


def test_stepping_by_hand_hears_of_it_at_its_own_step() -> None:
    with sim.mode("lazy"):
        there = torch.ones(2, device="sim")
        line = fail()
        there.add_(1)
        assert len(sim.step()) == 1
        with pytest.raises(sim.QueuedOperationError, match=line):
            sim.step()
        assert [operation.name for operation in sim.step()] == ["aten.add_.Tensor"]
        assert there.tolist() == [2, 2]


def test_a_query_does_not_raise_and_does_not_use_the_failure_up() -> None:
    line = fail()
    event = gpu.current_stream().record_event()
    while not event.query():
        pass
    with pytest.raises(sim.QueuedOperationError, match=line):
        event.synchronize()


def test_a_replay_fails_each_time_and_later_replays_run() -> None:
    row = torch.tensor([7], pin_memory=True)
    table = torch.zeros(3, 2, device="sim")
    graph = gpu.CUDAGraph()
    with gpu.graph(graph):
        found = torch.nn.functional.embedding(row.to("sim", non_blocking=True), table)
    for _ in range(2):
        graph.replay()
        with pytest.raises(sim.QueuedOperationError, match=r"embedding.*test_failed_operation\.py"):
            gpu.synchronize()
    row[0] = 2
    graph.replay()
    assert found.tolist() == [[0, 0]]


def test_a_function_that_asks_to_exit_on_the_devices_thread_is_a_failure_and_no_hang() -> None:
    """Only `Exception` would leave the stream running for ever, and its thread dead."""
    there = torch.zeros(1, device="sim")

    def leave(_: torch.Tensor) -> torch.Tensor:
        raise SystemExit(3)

    with sim.mode("threaded"):
        sim.kernel(leave, there, there)
        after = there + 1
        with pytest.raises(sim.QueuedOperationError, match="failed on the device"):
            gpu.synchronize()
        assert after.tolist() == [1]


def test_a_link_that_would_never_deliver_is_refused() -> None:
    for latency in (float("inf"), float("nan"), -1.0):
        with pytest.raises(ValueError, match="must be 0 or more, and finite"):
            sim.link(latency=latency)


# -- under explore ---------------------------------------------------------------------------------


def late_index() -> Any:
    """Whether the index is out of range when it is read depends on the schedule."""
    row = torch.tensor([7], pin_memory=True)
    table = torch.zeros(3, 2, device="sim")
    found = torch.nn.functional.embedding(row.to("sim", non_blocking=True), table)
    row[0] = 1
    return found.tolist()


def test_explore_reports_a_failure_as_an_outcome_with_its_schedules() -> None:
    report = explore(late_index, expect=[[0.0, 0.0]])
    values = [outcome.value for outcome in report.outcomes]
    failed = [value for value in values if isinstance(value, Raised)]
    line = late_index.__code__.co_firstlineno + 4
    place = f"test_failed_operation.py:{line}"
    assert [value.type for value in failed] == [sim.QueuedOperationError]
    assert f"embedding.default failed on the device; queued at {place}" in failed[0].message
    assert [[0.0, 0.0]] in values
    assert not report.correct
    gpu.synchronize()  # nothing is left for the caller
    assert sim.pending() == []


def swallowed() -> Any:
    """A program that catches the failure goes on, and its next wait is clean."""
    there = torch.ones(2, device="sim")
    fail()
    there.add_(1)
    try:
        there.tolist()
    except sim.QueuedOperationError:
        return there.tolist()
    return "no failure"


def test_a_program_that_catches_the_failure_gives_one_value_in_every_schedule() -> None:
    report = explore(swallowed, expect=[2.0, 2.0])
    assert report.correct, report


def test_a_failure_from_before_is_raised_before_the_search_begins() -> None:
    line = fail()
    with pytest.raises(sim.QueuedOperationError, match=line):
        explore(swallowed)
    assert explore(swallowed, expect=[2.0, 2.0]).correct
