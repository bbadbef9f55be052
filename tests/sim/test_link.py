"""The link model: how long a copy takes in threaded mode."""

from __future__ import annotations

import time

import pytest
import torch

from pinlab import sim
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def seconds_of_a_copy(nbytes: int) -> float:
    row = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=True)
    there = torch.zeros(nbytes, dtype=torch.uint8, device="sim")
    gpu.synchronize()
    began = time.perf_counter()
    there.copy_(row)
    return time.perf_counter() - began


def test_a_transfer_takes_latency_plus_size_over_bandwidth() -> None:
    assert sim.Link(latency=0.5, bandwidth=4.0).seconds(2) == 1.0
    with sim.mode("threaded"), sim.link(latency=0.03, bandwidth=1e6):
        assert 0.13 <= seconds_of_a_copy(100_000) < 5


def test_kernels_do_not_cross_the_link() -> None:
    with sim.mode("threaded"), sim.link(latency=5.0):
        began = time.perf_counter()
        (torch.ones(10, device="sim") + 1).add_(1)
        gpu.synchronize()
        assert time.perf_counter() - began < 4


def test_other_modes_take_no_time() -> None:
    with sim.mode("lazy"), sim.link(latency=5.0):
        assert seconds_of_a_copy(100) < 4


def test_bytes_move_at_the_end_of_the_time() -> None:
    with sim.mode("threaded"), sim.link(latency=0.15):
        row = torch.tensor([5], pin_memory=True)
        there = row.to("sim", non_blocking=True)
        row.fill_(40)  # long before
        assert there.item() == 40


def test_a_link_holds_for_a_block_or_for_good() -> None:
    device = accelerator()
    plain = device.link
    with sim.link(latency=1e-3) as now:
        assert device.link is now
        assert now.latency == 1e-3
    assert device.link is plain
    try:
        sim.link(bandwidth=5e9)
        assert device.link.bandwidth == 5e9
    finally:
        device.link = plain


@pytest.mark.parametrize(
    ("latency", "bandwidth", "message"),
    [
        (-1.0, 1.0, "latency is -1.0 s"),
        (float("nan"), 1.0, "latency is nan s"),
        (0.0, 0.0, "bandwidth is 0.0 bytes/s"),
        (0.0, float("nan"), "bandwidth is nan bytes/s"),
    ],
)
def test_impossible_links_are_refused(latency: float, bandwidth: float, message: str) -> None:
    plain = accelerator().link
    with pytest.raises(ValueError, match=message):
        sim.link(latency=latency, bandwidth=bandwidth)
    assert accelerator().link is plain
