"""C03: a device buffer is written and then used on the same stream."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    table = torch.zeros(2, dtype=torch.int64, device=device)
    table.fill_(6)
    result = table * 10
    gpu.synchronize()
    return result.tolist(), [60, 60]


CASE = Case(
    id="C03",
    title="A device buffer written, then used by a kernel on the same stream",
    public_id="vllm-project/vllm#42603",
    kind=STREAMS_UNORDERED,
    symptom=(
        "A crash that disappears with launches that block: the host was said to have to wait "
        "between the write and the kernel."
    ),
    mechanism=(
        "Work on one stream runs in the order in which it was queued, so this needs no wait. "
        "Users did report that the wait helped: it hides some other gap."
    ),
    repair="None for this claim.",
    broken=broken,
)
