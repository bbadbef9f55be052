"""Z58: a load overwrites a block that is still being read."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    block = torch.full((1,), 5, device=device)
    source = torch.tensor([9], pin_memory=True)
    load = gpu.Stream()
    gpu.synchronize()
    attention = block * 2
    with gpu.stream(load):
        block.copy_(source, non_blocking=True)
    gpu.synchronize()
    return attention.item(), 10


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    block = torch.full((1,), 5, device=device)
    source = torch.tensor([9], pin_memory=True)
    load = gpu.Stream()
    gpu.synchronize()
    attention = block * 2
    load.wait_stream(gpu.current_stream())
    with gpu.stream(load):
        block.copy_(source, non_blocking=True)
    gpu.synchronize()
    return attention.item(), 10


CASE = Case(
    id="Z58",
    title="A load overwrites a block that is still being read",
    public_id="vllm-project/vllm#47282",
    kind=STREAMS_UNORDERED,
    guard=OTHER_PART,
    symptom="The same garbled text as in Z57, only rarer, after that one was mended.",
    mechanism=(
        "The mirror image: a block is freed and given to another request, whose load fills it "
        "on a stream of its own. The attention of the request before it may still read the "
        "block."
    ),
    repair="Loads wait for the compute stream's event as well.",
    broken=broken,
    fixed=fixed,
    culprit="block.copy_(source, non_blocking=True)",
    wrong=18,
)
