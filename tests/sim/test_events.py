"""Events: recordings, the waits that hold on to them, and timing."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from pinlab import sim
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def test_query_is_false_while_the_last_task_runs() -> None:
    """Not only while something is queued behind it."""
    go, running = threading.Event(), threading.Event()

    def work() -> None:
        running.set()
        go.wait(10)

    event = gpu.Event()
    accelerator().submit(Operation("slow", "kernel", accelerator().default, work))
    event.record()
    assert running.wait(10)
    assert not event.query()
    assert not gpu.current_stream().query()
    go.set()
    event.synchronize()
    assert event.query()


def test_recording_again_does_not_change_an_earlier_wait() -> None:
    with sim.mode("lazy"):
        first, second, event = gpu.Stream(), gpu.Stream(), gpu.Event()
        there = torch.zeros(1, device="sim")
        gpu.synchronize()
        with gpu.stream(first):
            there.add_(1)
        event.record(first)
        second.wait_event(event)
        event.record(gpu.Stream())  # an idle stream: complete at once
        assert event.query()
        with gpu.stream(second):
            there.mul_(10)
        second.synchronize()
        assert there.item() == 10


def test_a_wait_covers_only_what_was_recorded() -> None:
    with sim.mode("lazy"):
        first, second = gpu.Stream(), gpu.Stream()
        there = torch.zeros(1, device="sim")
        gpu.synchronize()
        event = first.record_event()
        with gpu.stream(first):
            there.add_(1)
        second.wait_event(event)
        with gpu.stream(second):
            there.mul_(10)
        second.synchronize()
        assert there.item() == 0
        first.synchronize()
        assert there.item() == 1


def test_an_event_never_recorded_is_complete() -> None:
    event = gpu.Event()
    with sim.mode("lazy"):
        torch.ones(2, device="sim")
        assert event.query()
        event.synchronize()
        event.wait()
        assert len(sim.pending()) == 1
        assert repr(event) == "<pinlab.sim.Event, not recorded>"


def test_an_event_shows_whether_it_was_reached() -> None:
    with sim.mode("lazy"):
        torch.ones(2, device="sim")
        event = gpu.current_stream().record_event()
        assert repr(event) == "<pinlab.sim.Event on stream 0, pending>"
        event.synchronize()
        assert repr(event) == "<pinlab.sim.Event on stream 0, reached>"


def test_streams_may_wait_for_each_other_many_times_over() -> None:
    """A wait must not look at the same part of a queue twice: 2^60 looks would not end."""
    for mode in ("threaded", "lazy", "random"):
        with sim.mode(mode):
            first, second, held = gpu.Stream(), gpu.Stream(), gpu.Stream()
            there = torch.zeros(1, device="sim")
            gpu.synchronize()
            with sim.hold(held), sim.hold(first, release_after=0.05):
                for _ in range(60):
                    with gpu.stream(first):
                        there.add_(1)
                    second.wait_stream(first)
                    with gpu.stream(second):
                        there.add_(1)
                    first.wait_stream(second)
                began = time.monotonic()
                first.synchronize()
                assert time.monotonic() - began < 10
            assert there.item() == 120


def test_elapsed_time_is_in_milliseconds() -> None:
    first, last = gpu.Event(enable_timing=True), gpu.Event(enable_timing=True)
    first.record()
    accelerator().submit(
        Operation("sleep", "kernel", accelerator().default, lambda: time.sleep(0.03))
    )
    last.record()
    last.synchronize()
    assert 29 < first.elapsed_time(last) < 5000
    assert first.elapsed_time(last) == -last.elapsed_time(first)


def test_elapsed_time_needs_two_complete_timed_recordings() -> None:
    timed, plain = gpu.Event(enable_timing=True), gpu.Event()
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(gpu.Event(enable_timing=True))
    timed.record()
    plain.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with sim.mode("lazy"):
        late = gpu.Event(enable_timing=True)
        torch.ones(2, device="sim")
        late.record()
        with pytest.raises(RuntimeError, match="must be completed"):
            timed.elapsed_time(late)


def test_flags_are_accepted_but_for_sharing_between_processes() -> None:
    gpu.Event(enable_timing=True, blocking=True).record()
    with pytest.raises(ValueError, match="stay in one process"):
        gpu.Event(interprocess=True)
