"""Z40: pinned temporaries are copied by their addresses, and recycled under the copy."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import FREED_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    cache = [torch.tensor([0, 0]).to(device) for _ in range(2)]

    def scatter(chunk: torch.Tensor, target: torch.Tensor) -> None:
        source = chunk.pin_memory()
        sim.memcpy_async(target.data_ptr(), source.data_ptr(), 16)
        del source

    scatter(torch.tensor([1, 1]), cache[0])
    scatter(torch.tensor([2, 2]), cache[1])
    gpu.synchronize()
    return [entry.tolist() for entry in cache], [[1, 1], [2, 2]]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    cache = [torch.tensor([0, 0]).to(device) for _ in range(2)]

    def scatter(chunk: torch.Tensor, target: torch.Tensor) -> None:
        source = chunk.pin_memory()
        sim.memcpy_async(target.data_ptr(), source.data_ptr(), 16)
        gpu.current_stream().synchronize()
        del source

    scatter(torch.tensor([1, 1]), cache[0])
    scatter(torch.tensor([2, 2]), cache[1])
    gpu.synchronize()
    return [entry.tolist() for entry in cache], [[1, 1], [2, 2]]


CASE = Case(
    id="Z40",
    title="Pinned temporaries copied through raw pointers",
    public_id="LMCache/LMCache#4830",
    kind=FREED_TOO_EARLY,
    symptom="The score of a benchmark falls from 0.80 to 0.00, and there is no error.",
    mechanism=(
        "Chunks are pinned into temporaries and copied by address, which no allocator sees. When "
        "the function returns, the temporary's block is free, and the next chunk that is pinned "
        "overwrites it."
    ),
    repair=(
        "The function waits before it returns, only where it made temporaries. A wait of the "
        "caller's, later, could not help."
    ),
    broken=broken,
    fixed=fixed,
    culprit="source = chunk.pin_memory()",
    wrong=[[2, 2], [2, 2]],
    guard=BESIDE,
)
