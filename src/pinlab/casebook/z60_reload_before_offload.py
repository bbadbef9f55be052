"""Z60: a reload reads pinned staging memory that the offload has not filled."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import ONE_PATH
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    activation = torch.tensor([3]).to(device) + 0
    staging = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    offload = gpu.Stream()
    offload.wait_stream(gpu.current_stream())
    with gpu.stream(offload):
        staging.copy_(activation, non_blocking=True)
    reloaded = staging.to(device, non_blocking=True)
    gpu.synchronize()
    return reloaded.item(), 3


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    activation = torch.tensor([3]).to(device) + 0
    staging = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    offload = gpu.Stream()
    offload.wait_stream(gpu.current_stream())
    with gpu.stream(offload):
        staging.copy_(activation, non_blocking=True)
        offloaded = offload.record_event()
    gpu.current_stream().wait_event(offloaded)
    reloaded = staging.to(device, non_blocking=True)
    gpu.synchronize()
    return reloaded.item(), 3


CASE = Case(
    id="Z60",
    title="A reload reads staging memory before the offload filled it",
    public_id="NVIDIA/Megatron-LM#7398",
    kind=STREAMS_UNORDERED,
    guard=ONE_PATH,
    symptom="Wrong gradients in the warm-up iteration, while the loss still falls.",
    mechanism=(
        "What the two streams share is host memory: the reload on the compute stream reads "
        "pinned staging that the offload on its own stream has still to fill. One caller had "
        "the event wait between them, the other one had not."
    ),
    repair="Proposed: the reload itself waits for the offload's event.",
    broken=broken,
    fixed=fixed,
    culprit="reloaded = staging.to(device, non_blocking=True)",
    wrong=0,
)
