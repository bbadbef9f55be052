"""What `hazards()` sees of captured graphs, in every mode."""

from __future__ import annotations

import pytest
import torch

from pinlab.detect.hazards import Kind

from .blame import blames, gpu

pytestmark = pytest.mark.usefixtures("each_mode")


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([1], pin_memory=True), torch.zeros(1, dtype=torch.int64, device="sim")


def test_an_edit_of_a_captured_source_within_the_capture() -> None:
    def program() -> None:
        row, there = pair()
        g = gpu.CUDAGraph()
        with gpu.graph(g):
            there.copy_(row, non_blocking=True)
            row[0] = 2
            row.numpy()[0] = 3
        g.replay()
        gpu.synchronize()

    assert blames(program) == [
        (Kind.CAPTURED_WRITTEN, "row[0] = 2"),
        (Kind.CAPTURED_WRITTEN, "row.numpy()[0] = 3"),
    ]


def test_refilling_between_replays_is_fine_and_under_a_pending_replay_it_is_not() -> None:
    def program() -> None:
        row, there = pair()
        g = gpu.CUDAGraph()
        with gpu.graph(g):
            row.numpy()[0] = 0  # before it is captured
            there.copy_(row, non_blocking=True)
        row.fill_(1)
        g.replay()
        gpu.synchronize()
        row.fill_(2)
        g.replay()
        row.fill_(3)
        gpu.synchronize()

    assert blames(program) == [(Kind.SOURCE_WRITTEN, "row.fill_(3)")]


def test_a_source_dropped_within_the_capture_or_before_the_replay() -> None:
    def within() -> None:
        _, there = pair()
        g = gpu.CUDAGraph()
        with gpu.graph(g):
            source = torch.tensor([1], pin_memory=True)
            there.copy_(source, non_blocking=True)
            del source
        g.replay()
        gpu.synchronize()

    def later() -> None:
        source, there = pair()
        g = gpu.CUDAGraph()
        with gpu.graph(g):
            there.copy_(source, non_blocking=True)
        del source
        g.replay()
        gpu.synchronize()

    assert blames(within) == [(Kind.FREED, "del source"), (Kind.STALE_REPLAY, "g.replay()")]
    assert blames(later) == [(Kind.STALE_REPLAY, "g.replay()")]


def test_a_kept_private_source_and_an_untouched_one_are_clean() -> None:
    def program() -> None:
        row, there = pair()
        g = gpu.CUDAGraph()
        with gpu.graph(g):
            source = row.clone().pin_memory()
            there.copy_(source, non_blocking=True)
            row[0] = 2
        for _ in range(2):
            g.replay()
        gpu.synchronize()

    assert blames(program) == []


def test_branches_that_nothing_joins() -> None:
    def program() -> None:
        _, there = pair()
        g, side = gpu.CUDAGraph(), gpu.Stream()
        with gpu.graph(g):
            main = gpu.current_stream()
            side.wait_stream(main)
            with gpu.stream(side):
                there.mul_(10)
            there.add_(1)
            main.wait_stream(side)
        g.replay()
        gpu.synchronize()

    assert blames(program) == [(Kind.UNORDERED, "g.replay()")]
