"""Z11: the runner's pinned inputs are refilled while the last upload is pending."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    host = torch.tensor([0], pin_memory=True)
    there = torch.zeros(1, dtype=torch.int64, device=device)
    results = []
    for step in (1, 2):
        host[0] = step
        there.copy_(host, non_blocking=True)
        results.append(there * 10)
    gpu.synchronize()
    return [result.item() for result in results], [10, 20]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    host = torch.tensor([0], pin_memory=True)
    there = torch.zeros(1, dtype=torch.int64, device=device)
    uploaded = gpu.Event()
    results = []
    for step in (1, 2):
        uploaded.synchronize()
        host[0] = step
        there.copy_(host, non_blocking=True)
        uploaded.record()
        results.append(there * 10)
    gpu.synchronize()
    return [result.item() for result in results], [10, 20]


CASE = Case(
    id="Z11",
    title="Pinned inputs refilled for the next step while their upload is pending",
    public_id="vllm-project/vllm#24527",
    kind=REFILLED_BUFFER,
    guard=OTHER_STEP,
    symptom="Found by review: a step may run with the inputs of the step after it.",
    mechanism=(
        "The runner owns pinned input buffers and refills them for each step. Under "
        "asynchronous scheduling nothing waits for the uploads of the step before."
    ),
    repair="An event is recorded after the uploads, and waited for before the next refill.",
    broken=broken,
    fixed=fixed,
    culprit="host[0] = step",
    wrong=[20, 20],
)
