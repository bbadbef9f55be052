"""Z34: a checkpoint is written from downloads that nobody waited for."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import NEVER_WRITTEN, Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import READ_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    parameters = [torch.tensor([i]).to(device) * 7 for i in (1, 2)]
    staged = [parameter.to("cpu", non_blocking=True) for parameter in parameters]
    on_disk = [tensor.tolist() for tensor in staged]
    return on_disk, [[7], [14]]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    parameters = [torch.tensor([i]).to(device) * 7 for i in (1, 2)]
    staged = [parameter.to("cpu", non_blocking=True) for parameter in parameters]
    gpu.synchronize()
    on_disk = [tensor.tolist() for tensor in staged]
    return on_disk, [[7], [14]]


CASE = Case(
    id="Z34",
    title="A checkpoint written from downloads nobody waited for",
    public_id="NVIDIA/Megatron-LM#833",
    kind=READ_TOO_EARLY,
    guard=OTHER_PART,
    symptom="A question: can the checkpoint contain tensors that are copied only in part?",
    mechanism=(
        "The checkpoint code downloads with non_blocking and hands the tensors to the writer. "
        "No fence lies in between."
    ),
    repair="The downloads moved to a preparation that ends with a synchronise of the device.",
    broken=broken,
    fixed=fixed,
    culprit="on_disk = [tensor.tolist() for tensor in staged]",
    wrong=[[NEVER_WRITTEN], [NEVER_WRITTEN]],
)
