"""Z70: the host edits a pinned source within the capture that stores its address."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import CAPTURED_ADDRESS


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    graph = gpu.CUDAGraph()
    there = torch.tensor([0]).to(device)
    row = torch.tensor([1], pin_memory=True)
    with gpu.graph(graph):
        there.copy_(row, non_blocking=True)
        row[0] = 2
    graph.replay()
    return there.item(), 1


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    graph = gpu.CUDAGraph()
    there = torch.tensor([0]).to(device)
    row = torch.tensor([1], pin_memory=True)
    with gpu.graph(graph):
        private = row.clone().pin_memory()
        there.copy_(private, non_blocking=True)
        row[0] = 2
    graph.replay()
    return there.item(), 1


CASE = Case(
    id="Z70",
    title="A pinned source edited within the capture",
    public_id="pytorch/pytorch#167508",
    kind=CAPTURED_ADDRESS,
    symptom="Found by a detector: what a replay uploads is not what the captured code uploaded.",
    mechanism=(
        "Within a capture the host's part runs at once and the device's part later. The graph "
        "stores the address of the pinned source, so a later write changes what each replay "
        "uploads."
    ),
    repair=(
        "A detector: a hash of each pinned source when it is recorded is compared at the end of "
        "the capture. The program here uploads a private copy, which lives until the replay is "
        "over."
    ),
    broken=broken,
    fixed=fixed,
    culprit="row[0] = 2",
    wrong=2,
    guard=BESIDE,
    unseen={
        "fence": "It guards what is queued, and within a capture nothing is queued yet.",
    },
)
