"""`explore(program, executor=…)` with real processes: one pool of two serves the whole file."""

from __future__ import annotations

import multiprocessing
import os
import sys
import types
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.schedules import (
    LostWorkerError,
    NondeterministicProgramError,
    UnsendableProgramError,
    explore,
)
from pinlab.sim import Platform, platform

from . import helpers_elsewhere, sent_programs
from .same_report import agree

ring = sent_programs.ring


def forkserver() -> Any:
    """Workers fork from a process that has imported torch, once, and made no device."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "pinlab.schedules"])
    return context


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=forkserver()) as executor:
        yield executor


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "size"), [(4, 1), (5, 2), (7, 2), (6, 3)])
def test_rings(pool: ProcessPoolExecutor, batches: int, size: int) -> None:
    in_order = [[n + 1] for n in range(batches)]
    report = agree(partial(ring, batches, size), pool, expect=in_order)
    assert report.explored == len(report.outcomes) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "options"),
    [
        (partial(ring, 5, 1), {"max_schedules": 20}),
        (partial(ring, 3, 1, 2), {"pieces": 2}),
        (partial(ring, 2, 1), {"full": True}),
        (partial(ring, 2, 1), {"granularity": "opcode"}),
        (partial(sent_programs.downloads, 2), {"expect": [1, 2]}),
        (partial(sent_programs.two_streams, 2), {}),
        (sent_programs.raising, {"expect": [0, 0]}),
        (sent_programs.on_device, {}),
        (sent_programs.blocked, {}),
        (sent_programs.interrupted, {}),
        (sent_programs.helped, {}),
        (sent_programs.helped, {"trace": [helpers_elsewhere]}),
        (sent_programs.helped, {"trace": iter([helpers_elsewhere.upload_and_rewrite])}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_programs_of_every_kind(
    pool: ProcessPoolExecutor, program: Any, options: dict[str, Any]
) -> None:
    trace = list(options.get("trace", ()))
    agree(program, pool, **{**options, "trace": trace})


def test_the_platform_in_force_holds_for_the_workers_too(pool: ProcessPoolExecutor) -> None:
    assert agree(sent_programs.pageable, pool).deterministic
    with platform(Platform(stage_pageable_uploads=False)):
        assert not agree(sent_programs.pageable, pool).deterministic


def test_an_inner_function_cannot_be_sent_and_the_error_says_what_to_do(
    pool: ProcessPoolExecutor,
) -> None:
    def program() -> Any:
        return ring(3, 1)

    for unsendable in (program, lambda: ring(3, 1)):
        with pytest.raises(UnsendableProgramError, match="put the program into a module"):
            explore(unsendable, executor=pool)
    assert sim.pending() == []


def test_a_function_of_a_notebook_cannot_be_sent(
    pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = types.ModuleType("__main__")
    vars(notebook)["ring"] = ring
    exec("def program():\n    return ring(3, 1)\n", vars(notebook))
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    with pytest.raises(UnsendableProgramError, match=r"not found there: .*'program'.* notebook"):
        explore(notebook.program, executor=pool)


def test_memory_that_would_arrive_as_another_one_is_refused(pool: ProcessPoolExecutor) -> None:
    rows, tensor = np.zeros(2), torch.zeros(3)
    for brought, what in (
        ((torch.zeros(1, pin_memory=True),), "a pinned tensor"),
        ((torch.zeros(1, device="sim"),), "a device tensor"),
        ((rows, rows[:1]), "shares its memory"),
        ((rows, torch.from_numpy(rows)), "shares its memory"),
        ((tensor, tensor[1:]), "a Tensor that shares its memory"),
        ((torch.nn.Parameter(tensor), tensor.view(1, 3)), "shares its memory"),
    ):
        with pytest.raises(UnsendableProgramError, match=what):
            explore(partial(sent_programs.sizes, *brought), executor=pool)
    tied = torch.nn.ParameterList([torch.nn.Parameter(tensor)] * 2)
    assert agree(partial(sent_programs.sizes, rows, rows, np.ones(3), tied), pool).deterministic


def test_a_program_that_differs_elsewhere_is_told(
    pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINLAB_TEST_HERE", str(os.getpid()))
    with pytest.raises(NondeterministicProgramError, match="in another process the program"):
        explore(sent_programs.remembering, executor=pool)


@pytest.mark.slow
def test_a_worker_that_dies_is_an_error_that_says_where_the_search_was() -> None:
    with ProcessPoolExecutor(1, mp_context=forkserver()) as mortal:
        with pytest.raises(LostWorkerError) as caught:
            explore(sent_programs.deadly, executor=mortal)
        assert type(caught.value.__cause__).__name__ == "BrokenProcessPool"
        text = str(caught.value)
        assert "BrokenProcessPool: A process in the process pool was terminated abruptly" in text
        assert "in the workers' hands were the schedules h" in text
        with pytest.raises(LostWorkerError, match="BrokenProcessPool"):
            explore(sent_programs.raising, executor=mortal)
    assert sim.pending() == []


def test_threads_are_refused() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(TypeError, match="one device"):
        explore(sent_programs.raising, executor=threads)


def test_work_in_the_same_process_is_refused_whatever_the_executor_calls_itself() -> None:
    class Inline:
        def submit(self, work: Any, *args: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(work(*args))
            return future

    with pytest.raises(TypeError, match=r"it runs work in the process that calls explore.*spawn"):
        explore(sent_programs.raising, executor=Inline())


def test_forks_of_a_process_with_the_device_are_refused() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as forks,
        pytest.raises(TypeError, match=r"forks of a process with the device.*spawn"),
    ):
        explore(sent_programs.raising, executor=forks)


@pytest.mark.parametrize("executor", [7, "processes", ProcessPoolExecutor])
def test_what_is_no_executor_is_named(executor: Any) -> None:
    with pytest.raises(TypeError, match="executor="):
        explore(sent_programs.raising, executor=executor)
