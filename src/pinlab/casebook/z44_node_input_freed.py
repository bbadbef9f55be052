"""Z44: an executor frees a node's input when the node returns."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import FREED_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    there = torch.zeros(1, dtype=torch.int64, device=device)
    node_input = torch.tensor([42], pin_memory=True)
    there.copy_(node_input, non_blocking=True)
    del node_input
    _next_output = torch.tensor([13], pin_memory=True)
    gpu.synchronize()
    return there.item(), 42


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    there = torch.zeros(1, dtype=torch.int64, device=device)
    deferred = []
    node_input = torch.tensor([42], pin_memory=True)
    there.copy_(node_input, non_blocking=True)
    deferred.append(node_input)
    del node_input
    _next_output = torch.tensor([13], pin_memory=True)
    gpu.synchronize()
    deferred.clear()
    return there.item(), 42


CASE = Case(
    id="Z44",
    title="An executor frees a copy node's input when the node returns",
    public_id="microsoft/onnxruntime#879",
    kind=FREED_TOO_EARLY,
    guard=OTHER_PART,
    symptom="Memory corruption whenever a graph contains a node that copies from CPU to GPU.",
    mechanism=(
        "The executor frees the input of a node as soon as the node has returned. The copy node "
        "returns before the copy has happened."
    ),
    repair="Where the asynchronous read is not over, the release is put off to the end of the run.",
    broken=broken,
    fixed=fixed,
    culprit="_next_output = torch.tensor([13], pin_memory=True)",
    wrong=13,
    platform=sim.Platform(host_allocator_tracks=False),
)
