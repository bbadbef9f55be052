"""Captured graphs under every schedule: reduced and full search agree."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore

from .both_searches import outcomes

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


@pytest.mark.parametrize("private", [False, True])
def test_an_edit_within_the_capture_is_what_every_replay_reads(private: bool) -> None:
    def program() -> Any:
        g, there = gpu.CUDAGraph(), torch.zeros(1, dtype=torch.int64, device="sim")
        row = torch.tensor([1], pin_memory=True)
        with gpu.graph(g):
            source = row.clone().pin_memory() if private else row
            there.copy_(source, non_blocking=True)
            row[0] = 2
        g.replay()
        gpu.synchronize()
        return there.item()

    assert outcomes(program) == ([1] if private else [2])


@pytest.mark.parametrize("waits", [False, True])
def test_a_source_refilled_for_the_next_replay_needs_a_wait_for_the_last(waits: bool) -> None:
    g, row = gpu.CUDAGraph(), torch.tensor([0], pin_memory=True)
    with gpu.graph(g):
        there = row.to("sim", non_blocking=True)

    def program() -> Any:
        results = []
        for step in (1, 2):
            row[0] = step
            g.replay()
            results.append(there.clone())
            if waits:
                gpu.synchronize()
        return [result.item() for result in results]

    found = sorted(explore(program).outcomes, key=repr)
    assert found == ([[1, 2]] if waits else [[1, 2], [2, 2]])


def test_a_dropped_source_is_recycled_before_the_replay() -> None:
    def program() -> Any:
        g, there = gpu.CUDAGraph(), torch.zeros(1, dtype=torch.int64, device="sim")
        with gpu.graph(g):
            there.copy_(torch.tensor([1], pin_memory=True), non_blocking=True)
        other = torch.tensor([2], pin_memory=True)
        g.replay()
        return there.item(), other.item()

    assert outcomes(program) == [(2, 2)]


@pytest.mark.parametrize("joined", [False, True])
def test_branches_of_a_graph_race_where_nothing_joins_them(joined: bool) -> None:
    def program() -> Any:
        g, side = gpu.CUDAGraph(), gpu.Stream()
        x = torch.tensor([1]).to("sim")
        with gpu.graph(g):
            main = gpu.current_stream()
            side.wait_stream(main)
            with gpu.stream(side):
                x.mul_(10)
            if joined:
                main.wait_stream(side)
            x.add_(1)
            main.wait_stream(side)
        g.replay()
        return x.item()

    assert outcomes(program) == ([11] if joined else [11, 20])


def test_an_output_of_a_graph_is_read_too_early_without_a_wait() -> None:
    def program() -> Any:
        g, landing = gpu.CUDAGraph(), torch.zeros(1, dtype=torch.int64, pin_memory=True)
        x = torch.tensor([3]).to("sim")
        with gpu.graph(g):
            landing.copy_(x, non_blocking=True)
        g.replay()
        return landing.item()

    assert outcomes(program) == [0, 3]


def test_an_error_in_a_capture_is_an_outcome_and_leaves_the_next_run_alone() -> None:
    def program() -> Any:
        x = torch.tensor([3]).to("sim")
        with gpu.graph(gpu.CUDAGraph()):
            return x.item()

    report = explore(program)
    (outcome,) = report.outcomes
    assert repr(outcome).startswith("Raised(CaptureError, 'a copy between")
    assert report.explored == 1
