"""Forked processes: who touches the device there is told so, who does not works on.

`os.fork` itself, at any moment, is in `tests/sim/test_threads.py`, with a loader that pins.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pinlab import sim

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def touch(value: float) -> Any:
    return (torch.tensor([value], device="sim") + 1).tolist()


def touch_by_pinning(value: float) -> Any:
    return torch.tensor([value], pin_memory=True).tolist()


def stay_away(value: float) -> Any:
    return (torch.tensor([value]) + 1).tolist()


@pytest.fixture
def pool() -> Any:
    """One forked worker; the device has work queued and held at that moment."""
    there = torch.ones(3, device="sim")
    with sim.hold():
        there.add_(1)
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(1, mp_context=context) as made:
            yield made
    assert there.tolist() == [2, 2, 2]  # the parent's queue is unharmed


@pytest.mark.timeout(60)
def test_a_forked_pool_gets_the_error_and_lives(pool: ProcessPoolExecutor) -> None:
    assert pool.submit(stay_away, 1.0).result(30) == [2.0]
    for use in (touch, touch_by_pinning):
        with pytest.raises(sim.ForkedProcessError, match="'spawn'"):
            pool.submit(use, 1.0).result(30)
    assert pool.submit(stay_away, 2.0).result(30) == [3.0]


class Rows(Dataset[torch.Tensor]):
    def __init__(self, touching: bool) -> None:
        self.touching = touching

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        row = torch.full((3,), float(index))
        return row.to("sim").cpu() if self.touching else row


def load(touching: bool) -> list[float]:
    loader = DataLoader(
        Rows(touching), batch_size=4, num_workers=1, multiprocessing_context="fork", timeout=30
    )
    return [batch.to("sim", non_blocking=True).sum().item() for batch in loader]


@pytest.mark.timeout(60)
def test_a_loader_whose_workers_stay_away_works_and_one_whose_workers_do_not_says_why() -> None:
    torch.ones(2, device="sim").tolist()
    assert load(touching=False) == [18.0, 66.0]
    with pytest.raises(RuntimeError, match="cannot be used after fork"):
        load(touching=True)
    assert load(touching=False) == [18.0, 66.0]


@pytest.mark.timeout(60)
def test_a_forked_process_ends_by_itself_with_the_parents_work_queued() -> None:
    with sim.mode("lazy"):
        there = torch.ones(3, device="sim")
        process = multiprocessing.get_context("fork").Process(target=stay_away, args=(1.0,))
        process.start()
        process.join(30)
        assert process.exitcode == 0
        assert there.tolist() == [1, 1, 1]
