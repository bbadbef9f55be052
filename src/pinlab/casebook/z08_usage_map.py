"""Z08: a map of used parameters is zeroed while its upload is pending."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import EDITED_SOURCE


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    used = torch.tensor([1, 0, 1], pin_memory=True)
    there = torch.zeros(3, dtype=torch.int64, device=device)
    there.copy_(used, non_blocking=True)
    used.zero_()
    gpu.synchronize()
    return there.tolist(), [1, 0, 1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    used = torch.tensor([1, 0, 1], pin_memory=True)
    there = torch.zeros(3, dtype=torch.int64, device=device)
    there.copy_(used.clone().pin_memory(), non_blocking=True)
    used.zero_()
    gpu.synchronize()
    return there.tolist(), [1, 0, 1]


CASE = Case(
    id="Z08",
    title="The map of used parameters zeroed while its upload is pending",
    public_id="pytorch/pytorch#53160",
    kind=EDITED_SOURCE,
    guard=OTHER_PART,
    symptom="Now and then, distributed training takes a used parameter for an unused one.",
    mechanism=(
        "At the end of the backward pass the host zeroes its map for the next iteration. The "
        "upload of that map may still be queued behind a long backlog."
    ),
    repair=(
        "The upload reads a temporary pinned copy, which the caching host allocator keeps until "
        "the upload is over."
    ),
    broken=broken,
    fixed=fixed,
    culprit="used.zero_()",
    wrong=[0, 0, 0],
)
