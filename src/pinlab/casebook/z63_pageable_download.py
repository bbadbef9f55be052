"""Z63: a download into pageable memory is taken for complete on return."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import PLATFORM
from pinlab.casebook.kinds import PLATFORM_ASSUMED


def broken(device: torch.device) -> tuple[Any, Any]:
    count = torch.zeros(1, dtype=torch.int64)
    there = torch.tensor([5]).to(device) + 1
    count.copy_(there, non_blocking=True)
    observed = count.item()
    return observed, 6


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    count = torch.zeros(1, dtype=torch.int64)
    there = torch.tensor([5]).to(device) + 1
    count.copy_(there, non_blocking=True)
    gpu.current_stream().synchronize()
    observed = count.item()
    return observed, 6


CASE = Case(
    id="Z63",
    title="A download into pageable memory taken for complete on return",
    public_id="microsoft/onnxruntime#26512",
    kind=PLATFORM_ASSUMED,
    guard=PLATFORM,
    symptom="Rarely, when the GPU is busy, a count is used that nobody has initialised.",
    mechanism=(
        "A comment says that a copy to pageable memory is always complete when the call "
        "returns. The vendor's text says only that it may be."
    ),
    repair="Discussed: use the count on the device, or synchronise before the host reads it.",
    broken=broken,
    fixed=fixed,
    culprit="observed = count.item()",
    wrong=0,
    platform=sim.Platform(pageable_downloads_block=False),
)
