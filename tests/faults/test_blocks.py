"""Blocks that end in odd ways: left in another order, by a dropped generator, by another thread."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.errors import SimError
from pinlab.sim.modes import MODES
from pinlab.sim.platform import current_platform
from pinlab.sim.state import accelerator

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def test_modes_left_in_another_order_leave_the_one_from_before() -> None:
    before = accelerator().mode
    first, second, third = sim.mode("lazy"), sim.mode("eager"), sim.mode("random")
    for block in (first, second, third):
        block.__enter__()
    for block, after in ((second, "random"), (first, "random"), (third, "threaded")):
        block.__exit__(None, None, None)
        assert accelerator().mode.name == after
        assert (torch.ones(2, device="sim") + 1).tolist() == [2, 2]
    assert accelerator().mode is before


def test_links_left_in_another_order_leave_the_one_from_before() -> None:
    before = accelerator().link
    first, second = sim.link(latency=0.1), sim.link(latency=0.2)
    first.__enter__(), second.__enter__()
    first.__exit__()
    assert accelerator().link.latency == 0.2
    second.__exit__()
    assert accelerator().link == before


def test_generators_that_hold_a_mode_may_end_in_any_order() -> None:
    def steps(mode: str) -> Iterator[str]:
        with sim.mode(mode):
            yield mode

    before = accelerator().mode
    first, second = steps("lazy"), steps("eager")
    next(first), next(second)
    first.close()
    assert accelerator().mode.name == "eager"
    second.close()
    assert accelerator().mode is before


def test_rules_equal_to_those_below_end_with_their_own_block() -> None:
    with sim.platform(sim.Platform(pinning=False)):
        with sim.platform(sim.Platform()):
            assert torch.ones(2, pin_memory=True).is_pinned()
        assert not current_platform().pinning
        assert not torch.ones(2, pin_memory=True).is_pinned()
    assert current_platform().pinning


@pytest.mark.parametrize("mode", MODES)
def test_a_generator_dropped_inside_a_hold_opens_the_gate(mode: str) -> None:
    def held() -> Iterator[torch.Tensor]:
        with sim.hold():
            yield torch.ones(2, device="sim") + 1

    with sim.mode(mode):
        steps = held()
        there = next(steps)
        del steps
        gc.collect()
        assert there.tolist() == [2, 2]
        assert accelerator().holds == []


def test_a_hold_may_be_left_by_another_thread_and_a_thread_that_died_holding_is_named() -> None:
    block = sim.hold()
    block.__enter__()
    there = torch.ones(2, device="sim")
    thread = threading.Thread(target=block.__exit__, args=(None, None, None))
    thread.start()
    thread.join(10)
    assert there.tolist() == [1, 1]

    kept: list[Any] = []

    def die_holding() -> None:
        kept.append(sim.hold(timeout=0.1))
        kept[0].__enter__()
        there.add_(1)

    thread = threading.Thread(target=die_holding)
    thread.start()
    thread.join(10)
    with pytest.raises(sim.HeldStreamError, match=r"held at test_blocks\.py:\d+ and its timeout"):
        there.tolist()
    kept[0].__exit__(None, None, None)
    assert there.tolist() == [2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_a_reset_inside_blocks_ends_the_hold_and_keeps_the_mode(mode: str) -> None:
    with sim.mode(mode) as now:
        with sim.hold():
            torch.ones(2, device="sim")
            sim.reset()
            assert (torch.ones(2, device="sim") + 1).tolist() == [2, 2]
        assert accelerator().mode is now
    assert (torch.ones(2, device="sim") + 1).tolist() == [2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_a_wait_whose_work_another_thread_drops_by_a_reset_is_an_error_and_no_result(
    mode: str,
) -> None:
    heard: list[str] = []

    def ask() -> None:
        try:
            heard.append(str(there.tolist()))
        except sim.SimError as error:
            heard.append(str(error))

    with sim.mode(mode):
        there = torch.ones(2, device="sim")
        with sim.hold(timeout=60):
            there.add_(1)
            thread = threading.Thread(target=ask)
            thread.start()
            while thread not in accelerator().waiting:
                time.sleep(0.001)
            sim.reset()
            thread.join(20)
        assert heard == ["reset() on another thread dropped the work that this wait was for"]
        assert (torch.ones(2, device="sim") + 1).tolist() == [2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_destructors_and_weak_references_may_use_the_device_whenever_they_are_called(
    mode: str,
) -> None:
    found: list[Any] = []
    refused: list[tuple[threading.Thread, str]] = []

    class Last:
        def __init__(self) -> None:
            self.itself = self  # so that it ends when the collector looks, at any allocation

        def __del__(self) -> None:
            threes = torch.ones(2, device="sim") * 3
            try:
                found.append(threes.tolist())
            except SimError as error:  # collected on the device's own thread, which cannot wait
                refused.append((threading.current_thread(), str(error)))

    thresholds = gc.get_threshold()
    with sim.mode(mode):
        there = torch.zeros(2, device="sim")
        gc.set_threshold(1)
        try:
            for _ in range(30):
                Last()
                there = there + 1
        finally:
            gc.set_threshold(*thresholds)
        assert there.tolist() == [30, 30]
    gc.collect()
    deadline = time.monotonic() + 30  # the device's thread may be in the middle of the last one
    while len(found) + len(refused) < 30 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert found == [[3, 3]] * (30 - len(refused))
    workers = {stream.worker for stream in accelerator().streams}
    for thread, why in refused:  # everywhere else each of them gets its result
        assert thread in workers
        assert why == "work that runs on the device cannot wait for the device"
