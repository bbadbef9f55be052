"""C09: a pinned source is edited after its upload was waited for."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import EDITED_SOURCE


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    source = torch.tensor([1, 2, 3], pin_memory=True)
    there = source.to(device, non_blocking=True)
    uploaded = gpu.current_stream().record_event()
    uploaded.synchronize()
    source.fill_(0)
    return there.tolist(), [1, 2, 3]


CASE = Case(
    id="C09",
    title="A pinned source edited after its upload was waited for",
    public_id="pytorch/pytorch#126946",
    kind=EDITED_SOURCE,
    symptom="A pinned buffer is uploaded and then edited, as in Z07.",
    mechanism=(
        "The host waits for the event behind the upload before it edits. A tool that looks only "
        "for pinned and edited memory raises a false alarm here."
    ),
    repair="None needed.",
    broken=broken,
)
