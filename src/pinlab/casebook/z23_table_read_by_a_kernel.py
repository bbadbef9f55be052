"""Z23: a kernel reads a table and a slot number in host memory that the host goes on editing."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    table = torch.tensor([11, 22], pin_memory=True)
    slot = torch.tensor([0], pin_memory=True)
    results = []

    def gather(number: int) -> None:
        slot[0] = number
        result = torch.empty(1, dtype=torch.int64, device=device)
        sim.kernel(lambda rows, index: rows[index], result, table, slot)
        results.append(result)

    gather(0)
    table.numpy()[0] = 99
    gather(1)
    gpu.synchronize()
    return [result.item() for result in results], [11, 22]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    table = torch.tensor([11, 22], pin_memory=True)
    slot = torch.tensor([0], pin_memory=True)
    results = []
    staged = []

    def gather(number: int) -> None:
        slot[0] = number
        rows = table.clone().pin_memory()
        index = slot.clone().pin_memory()
        staged.append((rows, index))  # no allocator knows what a kernel of one's own reads
        result = torch.empty(1, dtype=torch.int64, device=device)
        sim.kernel(lambda rows, index: rows[index], result, rows, index)
        results.append(result)

    gather(0)
    table.numpy()[0] = 99
    gather(1)
    gpu.synchronize()
    return [result.item() for result in results], [11, 22]


CASE = Case(
    id="Z23",
    title="A kernel reads a host table that native code goes on editing",
    public_id="NVIDIA/TensorRT-LLM#16088",
    kind=REFILLED_BUFFER,
    symptom="Attention silently reads the blocks of another batch.",
    mechanism=(
        "A kernel reads the slot number and the block table in host memory while it runs. Before "
        "that the host refills the slot number, and native code writes the table by its address."
    ),
    repair=(
        "Both inputs go through fresh pinned buffers for each call. They must be kept until the "
        "kernel has run, since the host allocator does not know of it."
    ),
    broken=broken,
    fixed=fixed,
    culprit="slot[0] = number",
    wrong=[22, 22],
    guard=OTHER_STEP,
    unseen={
        "lint": "It knows of copies. That a kernel reads a host argument in place, it does not.",
    },
)
