"""C06: each step fills a fresh pinned buffer and drops it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    uploads = []
    for step in (1, 2, 3):
        fresh = torch.tensor([step], pin_memory=True)
        uploads.append(fresh.to(device, non_blocking=True))
        del fresh
    gpu.synchronize()
    return [upload.item() for upload in uploads], [1, 2, 3]


CASE = Case(
    id="C06",
    title="A fresh pinned buffer for each step, dropped at once",
    public_id="NVIDIA/TensorRT-LLM#15546",
    kind=REFILLED_BUFFER,
    symptom=(
        "Each step drops its pinned buffer while the upload from it is pending, and the next "
        "one may get the same memory."
    ),
    mechanism=(
        "This is the repair, not the fault: the host allocator hands a block out again only "
        "when the uploads it knows of are over. It holds for copies that the allocator can "
        "track."
    ),
    repair="None needed.",
    broken=broken,
)
