"""Long runs: a million operations, ten thousand streams; memory and threads stay as they were."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.state import accelerator, device_memory, host_memory

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
STATM = Path("/proc/self/statm")
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
MiB = 1 << 20


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * PAGE if STATM.exists() else 0


def growth(work: Callable[[int], object], first: int, then: int) -> int:
    """By how many bytes the process grows in `then` rounds after the `first` ones."""
    work(first)
    gpu.synchronize()
    before = resident()
    work(then)
    gpu.synchronize()
    return resident() - before


def everything(rounds: int) -> None:
    """Ten entries a round: copies both ways, kernels, views, events, what was freed and reused."""
    row = torch.arange(100.0, pin_memory=True)
    there = torch.zeros(100, device="sim")
    side = gpu.Stream()
    for number in range(rounds):
        there.copy_(row, non_blocking=True)
        there.mul_(2)
        more = there + 1
        event = gpu.current_stream().record_event()
        with gpu.stream(side):
            side.wait_event(event)
            more.record_stream(side)
            back = more[::2].to("cpu", non_blocking=True)
        if number % 100 == 0:
            side.synchronize()
            assert back[3].item() == 13.0  # 2 * 6 + 1


def check_account() -> None:
    """Nothing queued, nobody waiting, and no list that grew with the number of operations."""
    device = accelerator()
    assert sim.pending() == []
    assert device.waiting == set()
    assert device.errors == []
    torch.empty(1, device="sim"), torch.empty(1, pin_memory=True)  # these collect what was freed
    assert len(device_memory.live) < 100
    assert len(device_memory.guarded) + len(host_memory.guarded) < 2 * 1024 + 100
    assert len(host_memory.known[1]) < 2 * 1024 + 100  # no more than may be queued


@pytest.mark.parametrize("mode", ["threaded", "lazy"])
def test_five_thousand_entries_leave_the_process_as_it_was(mode: str) -> None:
    with sim.mode(mode):
        assert growth(everything, 200, 300) < 8 * MiB
    check_account()


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_million_entries_leave_the_process_as_it_was() -> None:
    assert growth(everything, 2_000, 100_000) < 8 * MiB
    check_account()


def streams(rounds: int) -> None:
    """Streams and events made, used and dropped; each with a priority of either pool."""
    there = torch.zeros(1, device="sim")
    gpu.synchronize()
    for number in range(rounds):
        stream = gpu.Stream(priority=-(number % 2))
        with gpu.stream(stream):
            event = gpu.Event(enable_timing=True)
            event.record()
            there + 1
            gpu.default_stream().wait_stream(stream)


@pytest.mark.parametrize("rounds", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_streams_made_and_dropped_share_the_threads_of_their_pools(rounds: int) -> None:
    threads = threading.active_count()
    assert growth(streams, rounds // 10, rounds) < 4 * MiB
    assert len(accelerator().streams) == 1 + 32 + 32
    assert threading.active_count() <= threads + 1 + 32 + 32
    check_account()


def test_ten_thousand_streams_that_nobody_uses_start_no_thread() -> None:
    threads = set(threading.enumerate())  # those of an earlier test may end meanwhile
    made = [gpu.Stream() for _ in range(10_000)]
    assert len(set(made)) == 32
    assert set(threading.enumerate()) <= threads


def test_holds_modes_and_links_entered_many_times_leave_nothing_behind() -> None:
    there = torch.zeros(1, device="sim")

    def blocks(rounds: int) -> None:
        for _ in range(rounds):
            with sim.link(latency=0.0), sim.mode("lazy"), sim.hold(), sim.record():
                there.add_(1)

    assert growth(blocks, 50, 150) < 4 * MiB
    assert there.item() == 200
    assert accelerator().holds == []
    assert accelerator().observers == []
