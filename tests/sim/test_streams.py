"""Streams as Python objects: which is current, where they come from, what outlives a reset."""

from __future__ import annotations

import threading

import pytest
import torch

from pinlab import sim
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def test_streams_are_numbered_in_order_of_creation() -> None:
    assert gpu.default_stream().stream_id == 0
    assert [gpu.Stream().stream_id for _ in range(3)] == [1, 2, 3]
    assert gpu.current_stream() == gpu.default_stream()
    assert gpu.Stream().device == torch.device("sim", 0)


def test_each_priority_has_a_pool_of_32() -> None:
    normal = [gpu.Stream() for _ in range(33)]
    high = [gpu.Stream(priority=-1) for _ in range(33)]
    assert normal[0] == normal[32]
    assert high[0] == high[32]
    assert len(set(normal)) == len(set(high)) == 32
    assert not set(normal) & set(high)
    assert (normal[0].priority, high[0].priority) == (0, -1)


def test_a_stream_is_a_context_manager_as_well() -> None:
    side = gpu.Stream()
    with side:
        assert gpu.current_stream() == side
        with gpu.stream(None):
            assert gpu.current_stream() == side
    assert gpu.current_stream() == gpu.default_stream()


def test_an_exception_puts_the_stream_back() -> None:
    for block in (gpu.Stream(), gpu.stream(gpu.Stream())):
        with pytest.raises(KeyError), block:
            raise KeyError
        assert gpu.current_stream() == gpu.default_stream()


def test_set_stream_is_for_this_thread() -> None:
    side, seen = gpu.Stream(), []
    gpu.set_stream(side)
    try:
        thread = threading.Thread(target=lambda: seen.append(gpu.current_stream().stream_id))
        thread.start()
        thread.join()
        assert gpu.current_stream() == side
        assert seen == [0]
    finally:
        gpu.set_stream(gpu.default_stream())


def test_two_threads_may_enter_one_stream_object() -> None:
    """Entering is remembered per thread: the one must not restore what the other had."""
    shared, mine = gpu.Stream(), gpu.Stream()
    inside, go = threading.Event(), threading.Event()
    after = []

    def other() -> None:
        with shared:
            inside.set()
            go.wait(10)
        after.append(gpu.current_stream().stream_id)

    thread = threading.Thread(target=other)
    with mine:
        thread.start()
        assert inside.wait(10)
        with shared:
            pass
        assert gpu.current_stream() == mine
        go.set()
        thread.join()
    assert after == [0]


def test_query_and_synchronize_concern_one_stream() -> None:
    with sim.mode("lazy"):
        side = gpu.Stream()
        with gpu.stream(side):
            there = torch.ones(2, device="sim")
        torch.ones(2, device="sim")
        side.synchronize()
        assert side.query()
        assert not gpu.default_stream().query()
        assert there._inner.tolist() == [1, 1]


def test_kernels_are_not_ordered_across_streams_without_an_event() -> None:
    with sim.mode("lazy", order="reversed"):
        first, second = gpu.Stream(), gpu.Stream()
        there = torch.zeros(1, device="sim")
        gpu.synchronize()
        with gpu.stream(first):
            there.add_(1)
        with gpu.stream(second):
            there.mul_(10)
        gpu.synchronize()
        assert there.item() == 1  # the later kernel ran first


def test_a_stream_made_before_a_reset_can_be_used_after_it() -> None:
    for mode in ("threaded", "lazy", "eager", "random"):
        with sim.mode(mode):
            side, event = gpu.Stream(), gpu.Event()
            with gpu.stream(side):
                torch.ones(2, device="sim").add_(1)
            event.record(side)
            sim.reset()
            assert event.query()
            assert side.query()
            gpu.current_stream().wait_event(event)
            with gpu.stream(side):
                there = torch.ones(2, device="sim").add_(1)
            side.synchronize()
            assert there.tolist() == [2, 2]
            assert side.stream_id == 1  # numbered anew, in order of use
            assert side.queue in accelerator().streams


def test_a_stream_shows_its_number_and_its_work() -> None:
    with sim.mode("lazy"):
        side = gpu.Stream()
        with gpu.stream(side):
            torch.ones(2, device="sim")
        assert repr(side) == "<pinlab.sim.Stream 1, 1 pending>"


def test_a_repr_can_be_made_while_threads_work() -> None:
    side = gpu.Stream()
    with gpu.stream(side):
        for _ in range(300):
            torch.ones(2, device="sim")
            assert "pinlab.sim.Stream" in repr(side)
    side.synchronize()


@pytest.mark.parametrize("device", ["cpu", "cuda", 1, "sim:1"])
def test_other_devices_are_refused(device: str | int) -> None:
    for function in (gpu.Stream, gpu.current_stream, gpu.synchronize, gpu.set_device):
        with pytest.raises(ValueError, match="the simulated device is 'sim', index 0"):
            function(device)


@pytest.mark.parametrize("device", [None, 0, "sim", "sim:0", torch.device("sim")])
def test_all_names_of_the_device_are_accepted(device: object) -> None:
    assert gpu.Stream(device).device_index == 0
    gpu.synchronize(device)
    with gpu.device(device):
        assert gpu.current_device() == 0
