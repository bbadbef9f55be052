"""Z55: a tensor is recorded on the stream that owns it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import MISPLACED
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    side = gpu.Stream()
    results = []
    for value in (1, 2):
        source = torch.tensor([value], pin_memory=True)
        with gpu.stream(side):
            weight = source.to(device, non_blocking=True)
            weight.record_stream(gpu.current_stream())
        gpu.current_stream().wait_stream(side)
        results.append(weight * 10)
        del weight
    gpu.synchronize()
    return [result.item() for result in results], [10, 20]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    side = gpu.Stream()
    compute = gpu.current_stream()
    results = []
    for value in (1, 2):
        source = torch.tensor([value], pin_memory=True)
        with gpu.stream(side):
            weight = source.to(device, non_blocking=True)
            weight.record_stream(compute)
        compute.wait_stream(side)
        results.append(weight * 10)
        del weight
    gpu.synchronize()
    return [result.item() for result in results], [10, 20]


CASE = Case(
    id="Z55",
    title="A weight recorded on the stream that owns it already",
    public_id="huggingface/diffusers#12721",
    kind=STREAMS_UNORDERED,
    guard=MISPLACED,
    symptom="The image is a mess with record_stream switched on, and right without.",
    mechanism=(
        "The current stream was asked for inside the block of the transfer stream, so the "
        "weight was recorded on the stream it belongs to. Its block is free for the next upload "
        "while the compute stream still reads it."
    ),
    repair="The compute stream is fetched before the block is entered.",
    broken=broken,
    fixed=fixed,
    culprit="weight = source.to(device, non_blocking=True)",
    wrong=[20, 20],
)
