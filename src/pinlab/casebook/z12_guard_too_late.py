"""Z12: the guard of the refill begins after the first refill."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import MISPLACED
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    temperature = torch.tensor([0], pin_memory=True)
    tokens = torch.tensor([0], pin_memory=True)
    uploaded = gpu.Event()
    results = []
    for step in (1, 2):
        temperature[0] = step
        temperature_there = temperature.to(device, non_blocking=True)
        uploaded.synchronize()
        tokens[0] = step
        tokens_there = tokens.to(device, non_blocking=True)
        uploaded.record()
        results.append(temperature_there * 100 + tokens_there)
    gpu.synchronize()
    return [result.item() for result in results], [101, 202]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    temperature = torch.tensor([0], pin_memory=True)
    tokens = torch.tensor([0], pin_memory=True)
    uploaded = gpu.Event()
    results = []
    for step in (1, 2):
        uploaded.synchronize()
        temperature[0] = step
        temperature_there = temperature.to(device, non_blocking=True)
        tokens[0] = step
        tokens_there = tokens.to(device, non_blocking=True)
        uploaded.record()
        results.append(temperature_there * 100 + tokens_there)
    gpu.synchronize()
    return [result.item() for result in results], [101, 202]


CASE = Case(
    id="Z12",
    title="The guarded region begins after the first refill",
    public_id="vllm-project/vllm#25279",
    kind=REFILLED_BUFFER,
    guard=MISPLACED,
    symptom="Sampling parameters come from the wrong step, although the first fix was already in.",
    mechanism=(
        "The event was waited for before the inputs were prepared. The update of the states "
        "comes before that, and it refills and uploads buffers as well."
    ),
    repair="A wider region, as a context manager.",
    broken=broken,
    fixed=fixed,
    culprit="temperature[0] = step",
    wrong=[201, 202],
)
