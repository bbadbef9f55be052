"""Events at odd moments: before they are recorded, recorded again, dropped while waited for."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.modes import MODES
from pinlab.sim.state import accelerator

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


@pytest.mark.parametrize("mode", MODES)
def test_waiting_before_the_first_recording_is_complete_at_once_and_never_later(mode: str) -> None:
    """As CUDA documents it: the wait is not bound to a recording that comes afterwards."""
    with sim.mode(mode):
        first, second, event = gpu.Stream(), gpu.Stream(), gpu.Event()
        there = torch.ones(2, device="sim")
        gpu.synchronize()
        second.wait_event(event)
        with sim.hold(first):
            event.record(first)  # too late for the wait above
            with gpu.stream(second):
                there.add_(1)
            second.synchronize()
            assert not event.query()
        event.synchronize()
        assert there.tolist() == [2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_recorded_again_while_waited_for_each_wait_keeps_its_own_recording(mode: str) -> None:
    with sim.mode(mode):
        held, first, second, event = gpu.Stream(), gpu.Stream(), gpu.Stream(), gpu.Event()
        early, late = torch.zeros(1, device="sim"), torch.zeros(1, device="sim")
        gpu.synchronize()
        event.record(first)
        second.wait_event(event)
        with gpu.stream(second):
            early.add_(1)
        with sim.hold(held):
            event.record(held)
            first.wait_event(event)
            with gpu.stream(first):
                late.add_(1)
            second.synchronize()  # its wait was for the first recording
            assert early._inner.tolist() == [1]
            assert late._inner.tolist() == [0]
        first.synchronize()
        assert late.tolist() == [1]


@pytest.mark.parametrize("mode", MODES)
def test_event_and_stream_objects_dropped_while_waited_for_do_not_let_the_wait_through(
    mode: str,
) -> None:
    with sim.mode(mode):
        first, second = gpu.Stream(), gpu.Stream()
        there = torch.zeros(1, device="sim")
        gpu.synchronize()
        gate = sim.hold(first)
        gate.__enter__()
        with gpu.stream(first):
            there.add_(1)
        event = first.record_event()
        second.wait_event(event)
        with gpu.stream(second):
            there.mul_(10)
        gone = weakref.ref(event)
        del event, first
        gc.collect()
        assert gone() is None
        assert not second.query()
        gate.__exit__(None, None, None)
        second.synchronize()
        assert there.tolist() == [10]


@pytest.mark.parametrize("mode", MODES)
def test_an_event_that_another_thread_records_again_and_again_is_reached(mode: str) -> None:
    """A host wait is for the recording that was the latest when it began."""
    event, stop = gpu.Event(), threading.Event()
    with sim.mode(mode):
        there = torch.zeros(1, device="sim")

        def record() -> None:
            while not stop.is_set():
                there.add_(1)
                event.record()

        thread = threading.Thread(target=record)
        thread.start()
        try:
            for _ in range(20):
                event.synchronize()
        finally:
            stop.set()
            thread.join(30)
        assert not thread.is_alive()
        gpu.synchronize()
        assert event.query()


def test_two_streams_cannot_wait_for_each_other() -> None:
    """A wait concerns recordings of the past, so no circle of waits can be made."""
    with sim.mode("lazy"):
        first, second = gpu.Stream(), gpu.Stream()
        ahead, behind = gpu.Event(), gpu.Event()
        there = torch.zeros(1, device="sim")
        first.wait_event(behind)  # not recorded yet: nothing to wait for
        with gpu.stream(first):
            there.add_(1)
        ahead.record(first)
        second.wait_event(ahead)
        behind.record(second)
        first.wait_event(behind)
        gpu.synchronize()
        assert there.tolist() == [1]
        assert accelerator().waiting == set()
