"""`explore(program, executor=…)` on a Dask cluster: two workers on loopback, one killed."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import LostWorkerError, UnsendableProgramError, arrivals, explore

from . import sent_programs
from .same_report import agree

dask = pytest.importorskip("dask", reason="needs the extra 'dask' (dask.distributed)")
distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

ring = sent_programs.ring
QUIET = {
    "dashboard_address": "127.0.0.1:0",  # where it would be; it is off
    "scheduler_kwargs": {"dashboard": False},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes, each of which takes two tasks at a time; no dashboard."""
    method = {"distributed.worker.multiprocessing-method": "forkserver"}
    with (
        dask.config.set(method | {"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=True,
            silence_logs=logging.CRITICAL,
            host="127.0.0.1",
            **QUIET,
        ) as two,
    ):
        yield two


@pytest.fixture(scope="module")
def executor(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client.get_executor()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "options"),
    [
        (partial(ring, 7, 2), {"expect": [[n + 1] for n in range(7)]}),
        (partial(ring, 5, 1), {"max_schedules": 20}),
        (partial(ring, 3, 1, 2), {"pieces": 2}),
        (partial(ring, 2, 1), {"full": True}),
        (partial(sent_programs.two_streams, 2), {}),
        (partial(sent_programs.downloads, 2), {}),
        (sent_programs.raising, {}),
        (sent_programs.on_device, {}),
        (sent_programs.blocked, {}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_report_is_the_serial_one(executor: Any, program: Any, options: Any) -> None:
    agree(program, executor, **options)


def test_functions_that_have_no_name_elsewhere_are_sent_by_value(executor: Any) -> None:
    gpu = torch.get_device_module("sim")

    def helper(row: torch.Tensor) -> None:
        row[0] = 1
        row[1] = 2

    def program() -> Any:
        row = torch.zeros(2, dtype=torch.int64, pin_memory=True)
        there = row.to("sim", non_blocking=True)
        helper(row)
        gpu.synchronize()
        if there[0].item() == 1:
            raise sent_programs.OddError(1, 0)
        return there.tolist()

    assert agree(program, executor).explored == 3


def test_what_such_a_function_brings_along_is_looked_at(executor: Any) -> None:
    row = torch.zeros(2, pin_memory=True)
    with pytest.raises(UnsendableProgramError, match="a pinned tensor"):
        explore(lambda: row.to("sim", non_blocking=True).tolist(), executor=executor)


@pytest.mark.slow
def test_a_worker_killed_in_mid_search_loses_nothing(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, killed = arrivals.Arrivals.receive, list[Any]()

    def kill_at_the_third(self: Any, answer: Any, among: Any) -> Any:
        if self.made > 20 and not killed:
            killed.append(answer.worker)
            os.kill(answer.worker[1], signal.SIGKILL)
        return receive(self, answer, among)

    monkeypatch.setattr(arrivals.Arrivals, "receive", kill_at_the_third)
    report = agree(partial(ring, 8, 2), executor)
    assert killed
    assert report.explored == 127


@pytest.mark.soak
@pytest.mark.timeout(600)  # each death costs a worker's start
def test_a_program_that_kills_every_worker_is_an_error(executor: Any) -> None:
    with pytest.raises(LostWorkerError, match="KilledWorker"):
        explore(sent_programs.deadly, executor=executor)
    assert sim.pending() == []


def test_a_cluster_of_threads_is_refused() -> None:
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as threads,
        distributed.Client(threads) as client,
        pytest.raises(TypeError, match="in the process that calls explore"),
    ):
        explore(sent_programs.raising, executor=client.get_executor())
