"""Z37: a download lands on rows that the host edits meanwhile."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import LIVE_DESTINATION


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    counts = torch.tensor([9, 9, 9], pin_memory=True)
    there = torch.tensor([4, 3, 2]).to(device) + 0
    counts.copy_(there, non_blocking=True)
    arrived = gpu.current_stream().record_event()
    counts.numpy()[0] = 1
    arrived.synchronize()
    return counts.tolist(), [1, 3, 2]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    counts = torch.tensor([9, 9, 9], pin_memory=True)
    there = torch.tensor([4, 3, 2]).to(device) + 0
    landing = torch.zeros(3, dtype=torch.int64, pin_memory=True)
    landing.copy_(there, non_blocking=True)
    arrived = gpu.current_stream().record_event()
    counts.numpy()[0] = 1
    still_theirs = [1, 2]
    arrived.synchronize()
    counts[still_theirs] = landing[still_theirs]
    return counts.tolist(), [1, 3, 2]


CASE = Case(
    id="Z37",
    title="A download lands on rows that the host edits meanwhile",
    public_id="vllm-project/vllm#51599",
    kind=LIVE_DESTINATION,
    guard=OTHER_PART,
    symptom="A crash or a wrong recurrent state after requests finish while a download is pending.",
    mechanism=(
        "The download writes straight into the rows of the batch. Requests that come and go "
        "edit those rows, and then the late bytes land on the edits."
    ),
    repair=(
        "The download goes to a buffer that nobody else writes. After the event the rows that "
        "are still the same requests' are taken over."
    ),
    broken=broken,
    fixed=fixed,
    culprit="counts.numpy()[0] = 1",
    wrong=[4, 3, 2],
)
