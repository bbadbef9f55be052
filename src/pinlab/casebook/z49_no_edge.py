"""Z49: a weight is uploaded on one stream and used on another."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    weight = torch.zeros(1, dtype=torch.int64, device=device)
    source = torch.tensor([3], pin_memory=True)
    side = gpu.Stream()
    with gpu.stream(side):
        weight.copy_(source, non_blocking=True)
    result = weight * 10
    gpu.synchronize()
    return result.item(), 30


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    weight = torch.zeros(1, dtype=torch.int64, device=device)
    source = torch.tensor([3], pin_memory=True)
    side = gpu.Stream()
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        weight.copy_(source, non_blocking=True)
    gpu.current_stream().wait_stream(side)
    result = weight * 10
    gpu.synchronize()
    return result.item(), 30


CASE = Case(
    id="Z49",
    title="Uploaded on a side stream, used on the main one, no edge between",
    public_id="ROCm/pytorch#3194",
    kind=STREAMS_UNORDERED,
    guard=BESIDE,
    symptom=(
        "With offloading, the result of a matrix product is wrong in nearly every iteration; "
        "the driver was suspected."
    ),
    mechanism=(
        "The upload runs on a side stream and its consumer on the default stream. No event "
        "orders the two."
    ),
    repair=(
        "None in the library. The consumer's stream must wait for the upload's, and the "
        "upload's for earlier users of the weight."
    ),
    broken=broken,
    fixed=fixed,
    culprit="result = weight * 10",
    wrong=0,
)
