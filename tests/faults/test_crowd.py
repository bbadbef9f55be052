"""Sixty-four threads on one device: what each gets is what it asked for."""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.modes import MODES
from pinlab.sim.state import accelerator
from tests.threads import together

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
CROWD = 64


def crowd(work: Any) -> None:
    """Run `work(n)` on 64 threads that begin at once; raise what went wrong on any."""
    start = threading.Barrier(CROWD, timeout=60)

    def run(number: int) -> None:
        start.wait()
        work(number)

    together(*[partial(run, number) for number in range(CROWD)])


def upload_work_download(number: int, own_stream: bool) -> None:
    """A pinned row there and back, its block dropped while the copies are queued."""
    dice = random.Random(number)
    stream = gpu.Stream() if own_stream else gpu.current_stream()
    with gpu.stream(stream):
        for _ in range(2):
            size, value = dice.choice((3, 200, 1000)), float(dice.randrange(100))
            row = torch.full((size,), value, pin_memory=True)
            there = (row.to("sim", non_blocking=True) + number) * 2
            del row
            back = there.to("cpu", non_blocking=True)
            event = gpu.current_stream().record_event()
            event.synchronize()
            assert back.tolist() == [(value + number) * 2] * size
            assert there.sum().item() == (value + number) * 2 * size


@pytest.mark.parametrize("mode", MODES)
def test_half_of_them_on_the_default_stream_half_on_their_own(mode: str) -> None:
    with sim.mode(mode):
        crowd(lambda number: upload_work_download(number, own_stream=number % 2 == 0))
    workers = [stream.worker for stream in accelerator().streams if stream.worker is not None]
    assert len(workers) <= 33  # a pool of 32 and the default stream
    assert accelerator().waiting == set()


def test_all_of_them_add_to_one_tensor_in_the_order_of_its_stream() -> None:
    total = torch.zeros(3, dtype=torch.int64, device="sim")

    def add(number: int) -> None:
        for _ in range(5):
            total.add_(number)

    crowd(add)
    assert total.tolist() == [5 * sum(range(CROWD))] * 3


def test_each_waits_for_its_neighbours_event() -> None:
    """A chain through 64 threads and 32 streams: nobody is passed over, nobody waits for ever."""
    there = torch.zeros(1, dtype=torch.int64, device="sim")
    gpu.synchronize()
    events = [gpu.Event() for _ in range(CROWD)]
    recorded = [threading.Event() for _ in range(CROWD)]

    def link(number: int) -> None:
        with gpu.stream(gpu.Stream()):
            if number:
                assert recorded[number - 1].wait(60)
                gpu.current_stream().wait_event(events[number - 1])
            there.mul_(3).add_(number).remainder_(1009)
            events[number].record()
        recorded[number].set()

    crowd(link)
    events[-1].synchronize()
    wanted = 0
    for number in range(CROWD):
        wanted = (wanted * 3 + number) % 1009
    assert there.item() == wanted


def test_a_failure_is_heard_of_by_exactly_one_of_those_that_wait() -> None:
    table, wrong = torch.zeros(3, 2, device="sim"), torch.tensor([7]).to("sim")
    heard: list[BaseException] = []
    with sim.hold(timeout=60, release_after=50) as gate:
        torch.nn.functional.embedding(wrong, table)
        event = gpu.current_stream().record_event()

        def wait(number: int) -> None:
            if number == 0:  # the others wait by then
                while len(accelerator().waiting) < CROWD - 1:
                    time.sleep(0.001)
                accelerator().release(gate)
                return
            try:
                event.synchronize()
            except sim.QueuedOperationError as error:
                heard.append(error)

        crowd(wait)
    assert len(heard) == 1
    gpu.synchronize()
