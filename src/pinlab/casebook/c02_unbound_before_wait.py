"""C02: views of a landing buffer are made before the event wait."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import READ_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    landing = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    there = torch.tensor([4, 9]).to(device) + 0
    landing.copy_(there, non_blocking=True)
    arrived = gpu.current_stream().record_event()
    first, second = landing.unbind()
    arrived.synchronize()
    return [first.item(), second.item()], [4, 9]


CASE = Case(
    id="C02",
    title="Views of a landing buffer made before the event wait",
    public_id="vllm-project/vllm#36942",
    kind=READ_TOO_EARLY,
    symptom=(
        "The landing buffer of a download is unbound before anybody waits for it, which looks "
        "like a read."
    ),
    mechanism="unbind makes views and reads no element. The values are read after the wait.",
    repair="None needed.",
    broken=broken,
)
