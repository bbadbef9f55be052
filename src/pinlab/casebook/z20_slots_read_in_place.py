"""Z20: a ring of host slots that the device reads in place wraps onto a slot in use."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import ONE_PATH
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    slots = [torch.tensor([0], pin_memory=True) for _ in range(2)]
    results = []
    for step in range(3):
        slot = slots[step % 2]
        slot[0] = step
        result = torch.empty(1, dtype=torch.int64, device=device)
        sim.kernel(lambda host: host * 10, result, slot)
        results.append(result)
    gpu.synchronize()
    return [result.item() for result in results], [0, 10, 20]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    slots = [torch.tensor([0], pin_memory=True) for _ in range(2)]
    read = [gpu.Event() for _ in slots]
    results = []
    for step in range(3):
        slot = slots[step % 2]
        read[step % 2].synchronize()
        slot[0] = step
        result = torch.empty(1, dtype=torch.int64, device=device)
        sim.kernel(lambda host: host * 10, result, slot)
        read[step % 2].record()
        results.append(result)
    gpu.synchronize()
    return [result.item() for result in results], [0, 10, 20]


CASE = Case(
    id="Z20",
    title="A ring of host slots read in place wraps onto a slot in use",
    public_id="vllm-project/vllm#53057",
    kind=REFILLED_BUFFER,
    symptom=(
        "An instance that only runs the encoder reports an illegal memory access, at a stream "
        "synchronisation that has nothing to do with it."
    ),
    mechanism=(
        "Kernels read a few host slots in place, and what keeps a slot from being refilled too "
        "early is that the host waits once a step. One kind of step never waits, so the ring wraps "
        "onto a slot that is still to be read."
    ),
    repair="The host waits for the earlier step before it takes its slot again.",
    broken=broken,
    fixed=fixed,
    culprit="slot[0] = step",
    wrong=[20, 10, 20],
    guard=ONE_PATH,
    unseen={
        "lint": "It knows of copies. That a kernel reads a host argument in place, it does not.",
    },
)
