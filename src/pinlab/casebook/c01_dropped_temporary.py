"""C01: a pinned temporary dropped right after its upload was queued."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import FREED_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    there = torch.tensor([5, 6]).pin_memory().to(device, non_blocking=True)
    _other = torch.tensor([8, 8]).pin_memory()
    gpu.synchronize()
    return there.tolist(), [5, 6]


CASE = Case(
    id="C01",
    title="A pinned temporary dropped right after its upload was queued",
    public_id="pytorch/pytorch#130785",
    kind=FREED_TOO_EARLY,
    symptom=(
        "The pinned source of a non-blocking upload dies at once, which looks like a use after "
        "free."
    ),
    mechanism=(
        "PyTorch's host allocator knows of the upload and does not hand the block out again "
        "before it is over. On a platform whose allocator does not, the same line is a bug "
        "(Z41), and so it is with copies by raw pointer (Z40)."
    ),
    repair="None needed; the reporter withdrew the claim.",
    broken=broken,
)
