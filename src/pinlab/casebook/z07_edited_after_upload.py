"""Z07: a pinned source is edited right after its upload was queued."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import EDITED_SOURCE


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    source = torch.tensor([1, 2, 3], pin_memory=True)
    there = source.to(device, non_blocking=True)
    source.fill_(0)
    gpu.synchronize()
    return there.tolist(), [1, 2, 3]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    source = torch.tensor([1, 2, 3], pin_memory=True)
    there = source.to(device, non_blocking=True)
    uploaded = gpu.current_stream().record_event()
    uploaded.synchronize()
    source.fill_(0)
    gpu.synchronize()
    return there.tolist(), [1, 2, 3]


CASE = Case(
    id="Z07",
    title="A pinned source edited right after its upload was queued",
    public_id="pytorch/pytorch#126946",
    kind=EDITED_SOURCE,
    guard=BESIDE,
    symptom="The device gets the edited values, not those of the moment of the call.",
    mechanism=(
        "An upload from pinned memory reads its source when the stream gets there. The host "
        "edits the source before that."
    ),
    repair=(
        "None in the library: to keep the source alive and unchanged is the caller's duty, and "
        "the documentation says so by now. Here the caller waits for an event before the edit."
    ),
    broken=broken,
    fixed=fixed,
    culprit="source.fill_(0)",
    wrong=[0, 0, 0],
)
