"""Z18: the guard exists only under one of the features that need it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import ONE_PATH
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)

    def run(async_scheduling: bool, pipeline_stages: int) -> list[Any]:
        uploaded = gpu.Event() if async_scheduling else None

        host = torch.tensor([0], pin_memory=True)
        there = torch.zeros(1, dtype=torch.int64, device=device)
        results = []
        for step in (1, 2):
            if uploaded is not None:
                uploaded.synchronize()
            host[0] = step
            there.copy_(host, non_blocking=True)
            if uploaded is not None:
                uploaded.record()
            results.append(there + 0)
        gpu.synchronize()
        return [result.item() for result in results]

    scheduled_ahead = run(async_scheduling=True, pipeline_stages=1)
    pipelined = run(async_scheduling=False, pipeline_stages=2)
    return [scheduled_ahead, pipelined], [[1, 2], [1, 2]]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)

    def run(async_scheduling: bool, pipeline_stages: int) -> list[Any]:
        batches_in_flight = max(2 if async_scheduling else 1, pipeline_stages)
        uploaded = gpu.Event() if batches_in_flight > 1 else None

        host = torch.tensor([0], pin_memory=True)
        there = torch.zeros(1, dtype=torch.int64, device=device)
        results = []
        for step in (1, 2):
            if uploaded is not None:
                uploaded.synchronize()
            host[0] = step
            there.copy_(host, non_blocking=True)
            if uploaded is not None:
                uploaded.record()
            results.append(there + 0)
        gpu.synchronize()
        return [result.item() for result in results]

    scheduled_ahead = run(async_scheduling=True, pipeline_stages=1)
    pipelined = run(async_scheduling=False, pipeline_stages=2)
    return [scheduled_ahead, pipelined], [[1, 2], [1, 2]]


CASE = Case(
    id="Z18",
    title="The guard exists only when one feature is on",
    public_id="vllm-project/vllm#47644",
    kind=REFILLED_BUFFER,
    guard=ONE_PATH,
    symptom=(
        "Illegal memory access with pipeline parallelism and sparse attention; dense models get "
        "wrong inputs."
    ),
    mechanism=(
        "The event that guards the refill is made only when asynchronous scheduling is on. The "
        "batch queue of pipeline parallelism creates the same overlap without that flag."
    ),
    repair="The event is made whenever more than one batch can be in flight.",
    broken=broken,
    fixed=fixed,
    culprit="host[0] = step",
    wrong=[[1, 2], [2, 2]],
)
