"""Z14: one mask buffer serves two steps that are in flight together."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    mask = torch.tensor([0], pin_memory=True)
    uploaded = gpu.Event()
    masks = []
    for step in range(4):
        if step >= 2:
            uploaded.synchronize()
        mask[0] = step
        masks.append(mask.to(device, non_blocking=True))
        uploaded.record()
    gpu.synchronize()
    return [one.item() for one in masks], [0, 1, 2, 3]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    buffers = [torch.tensor([0], pin_memory=True) for _ in range(2)]
    uploaded = [gpu.Event(), gpu.Event()]
    masks = []
    for step in range(4):
        turn = step % 2
        if step >= 2:
            uploaded[turn].synchronize()
        buffers[turn][0] = step
        masks.append(buffers[turn].to(device, non_blocking=True))
        uploaded[turn].record()
    gpu.synchronize()
    return [one.item() for one in masks], [0, 1, 2, 3]


CASE = Case(
    id="Z14",
    title="One mask buffer for two steps in flight",
    public_id="vllm-project/vllm#31841",
    kind=REFILLED_BUFFER,
    guard=OTHER_STEP,
    symptom="The engine dies under sustained image traffic with asynchronous scheduling.",
    mechanism=(
        "The mask of image positions has one pinned buffer, refilled at each step. The engine "
        "lets one more step begin while the upload of the last one is pending."
    ),
    repair="Two buffers, used in turn.",
    broken=broken,
    fixed=fixed,
    culprit="mask[0] = step",
    wrong=[1, 1, 2, 3],
)
