"""Z65: where pinning silently fails, the device gets a snapshot instead of a live view."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import PLATFORM
from pinlab.casebook.kinds import PLATFORM_ASSUMED


def broken(device: torch.device) -> tuple[Any, Any]:
    parameters = torch.tensor([0], pin_memory=True)
    if parameters.is_pinned():
        view = sim.uva_view(parameters)
    else:
        view = parameters.to(device)
    parameters[0] = 50
    result = view + 0
    return result.item(), 50


def fixed(device: torch.device) -> tuple[Any, Any]:
    parameters = torch.tensor([0], pin_memory=True)
    live = parameters.is_pinned()
    view = sim.uva_view(parameters) if live else parameters.to(device)
    parameters[0] = 50
    if not live:
        view.copy_(parameters)
    result = view + 0
    return result.item(), 50


CASE = Case(
    id="Z65",
    title="A snapshot where a live view of host memory was meant",
    public_id="vllm-project/vllm#57224",
    kind=PLATFORM_ASSUMED,
    symptom=(
        "On GPUs in confidential-computing mode every prompt is all zeros, and the server answers "
        "that all is well."
    ),
    mechanism=(
        "The code needs the alias: the device reads what the host writes later. Pinning silently "
        "gives ordinary memory there, a fallback takes a snapshot, and later writes never reach "
        "the device."
    ),
    repair=(
        "Proposed: a probe at the start that writes after mapping and reads back, or to switch the "
        "path off. Here the path without a live view copies after each write."
    ),
    broken=broken,
    fixed=fixed,
    culprit="view = parameters.to(device)",
    wrong=0,
    guard=PLATFORM,
    platform=sim.Platform(pinning=False),
    unseen={
        "hazards": "No operation is early or late: a copy was made where none was meant.",
    },
)
