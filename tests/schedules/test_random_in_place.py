"""Random programs of kernels in place, raw copies and replays: both searches find the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))

STEPS = (
    "host{a}[0] = {number}",
    "seen.append(host{a}.item())",
    "sim.kernel(both, there{b}, host{a}, there{b})",
    "sim.kernel(double, host{a}, there{b})",
    "there{b}.add_(sim.uva_view(host{a}))",
    "sim.memcpy_async(there{b}, host{a}, stream=side)",
    "sim.memcpy_async(host{a}.data_ptr(), there{b}.data_ptr(), 8, stream=side)",
    "graph.replay()",
    "side.wait_stream(gpu.current_stream())",
)


def both(host: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    return host + there


def double(there: torch.Tensor) -> torch.Tensor:
    return there * 2


def setup(two_streams: bool) -> tuple[Any, ...]:
    """Two pinned tensors, two device tensors, a second stream or the same, and a graph."""
    host0, host1 = torch.tensor([1], pin_memory=True), torch.tensor([2], pin_memory=True)
    there0, there1 = torch.tensor([10]).to("sim"), torch.tensor([20]).to("sim")
    graph = gpu.CUDAGraph()
    with gpu.graph(graph):
        there0.copy_(host0, non_blocking=True)
    side = gpu.Stream() if two_streams else gpu.current_stream()
    gpu.synchronize()
    return host0, host1, there0, there1, graph, side


def random_program(seed: int) -> Callable[[], Any]:
    """A straight line of steps, one a line; the same for the same seed."""
    coin, two = random.Random(seed), seed % 2 == 1
    lines = [
        coin.choice(STEPS).format(a=coin.randrange(2), b=coin.randrange(2), number=100 + number)
        for number in range(3 if two else 4)
    ]
    text = "\n    ".join(
        [
            "def program():",
            f"host0, host1, there0, there1, graph, side = setup({two})",
            "seen = []",
            *lines,
            "gpu.synchronize()",
            "return seen, [t.item() for t in (host0, host1, there0, there1)]",
        ]
    )
    names: dict[str, Any] = {
        "setup": setup,
        "sim": sim,
        "gpu": gpu,
        "both": both,
        "double": double,
    }
    exec(compile(text, f"<random program {seed}>", "exec"), names)
    program: Callable[[], Any] = names["program"]
    program.__doc__ = text
    return program


@pytest.mark.parametrize("seed", range(24))
def test_the_reduced_search_loses_no_outcome(seed: int) -> None:
    program = random_program(seed)
    reduced = explore(program, max_schedules=400)
    assert reduced.complete, program.__doc__
    if reduced.total is not None and reduced.total > 150:
        pytest.skip(f"{reduced.total} schedules are too many for the full search here")
    full = explore(program, full=True, max_schedules=400)
    assert set(full.outcomes) <= set(reduced.outcomes), program.__doc__
    if full.complete:
        assert set(full.outcomes) == set(reduced.outcomes), program.__doc__
