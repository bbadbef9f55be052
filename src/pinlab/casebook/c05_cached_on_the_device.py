"""C05: an activation is cached on the device and then changed in place."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import EDITED_SOURCE


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    activation = torch.tensor([3, 7]).to(device)
    cached = torch.empty_like(activation)
    cached.copy_(activation, non_blocking=True)
    activation.mul_(0)
    gpu.synchronize()
    return cached.tolist(), [3, 7]


CASE = Case(
    id="C05",
    title="An activation cached on the device, then changed in place",
    public_id="ndif-team/nnsight#666",
    kind=EDITED_SOURCE,
    symptom="The cache copies with non_blocking and the model goes on, which looks like a race.",
    mechanism=(
        "Source and destination are on the device, and copy and change run on one stream in "
        "this order. A download into pinned memory would be another matter (Z29)."
    ),
    repair="None needed.",
    broken=broken,
)
