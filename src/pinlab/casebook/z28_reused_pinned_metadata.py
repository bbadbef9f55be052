"""Z28: reused attention metadata is pinned, and nothing guards it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    metadata = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    uploads = []
    for step in (1, 2):
        metadata[0] = step
        uploads.append(metadata.to(device, non_blocking=True))
    gpu.synchronize()
    return [upload.item() for upload in uploads], [1, 2]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    metadata = torch.zeros(1, dtype=torch.int64)
    uploads = []
    for step in (1, 2):
        metadata[0] = step
        uploads.append(metadata.to(device, non_blocking=True))
    gpu.synchronize()
    return [upload.item() for upload in uploads], [1, 2]


CASE = Case(
    id="Z28",
    title="Reused attention metadata in pinned memory without a fence",
    public_id="vllm-project/vllm#32799",
    kind=REFILLED_BUFFER,
    guard=OTHER_STEP,
    symptom="Found before it struck: a runner without fences reuses its metadata buffers.",
    mechanism=(
        "A pinned buffer is refilled for the next step, and no fence separates that from the "
        "upload of the last one."
    ),
    repair=(
        "The reused buffers are not pinned any more: an upload from pageable memory is staged "
        "at the call, which costs the host a stall."
    ),
    broken=broken,
    fixed=fixed,
    culprit="metadata[0] = step",
    wrong=[2, 2],
)
