"""C04: a kernel on the same stream reads what an upload writes."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    lengths = torch.zeros(2, dtype=torch.int64, device=device)
    source = torch.tensor([3, 7], pin_memory=True)
    lengths.copy_(source, non_blocking=True)
    scores = lengths * 10
    gpu.synchronize()
    return scores.tolist(), [30, 70]


CASE = Case(
    id="C04",
    title="A kernel on the same stream reads what a pending upload writes",
    public_id="vllm-project/vllm#48831",
    kind=STREAMS_UNORDERED,
    symptom=(
        "Reranker scores near zero; the theory was that the kernel runs before the upload is over."
    ),
    mechanism=(
        "The kernel comes after the upload on the same stream, and that is an order. The fault "
        "was elsewhere (Z67)."
    ),
    repair="None for this theory.",
    broken=broken,
)
