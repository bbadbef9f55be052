"""C07: a pageable buffer is refilled after a non-blocking upload."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    metadata = torch.zeros(1, dtype=torch.int64)
    uploads = []
    for step in (1, 2):
        metadata[0] = step
        uploads.append(metadata.to(device, non_blocking=True))
    gpu.synchronize()
    return [upload.item() for upload in uploads], [1, 2]


CASE = Case(
    id="C07",
    title="A pageable buffer refilled after a non-blocking upload",
    public_id="vllm-project/vllm#32799",
    kind=REFILLED_BUFFER,
    symptom="One buffer is refilled step after step, and nothing waits for the uploads.",
    mechanism=(
        "The buffer is not pinned, so each upload takes its bytes before the call returns. It "
        "is slower, not wrong."
    ),
    repair="None needed: this is the repair of Z28.",
    broken=broken,
)
