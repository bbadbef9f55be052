"""Z67: the next chunk overwrites a device buffer before a late reader."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import DEVICE_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    lengths = torch.zeros(1, dtype=torch.int64, device=device)
    late = gpu.Stream()
    read = []
    for step in (3, 7):
        lengths.copy_(torch.tensor([step], pin_memory=True), non_blocking=True)
        late.wait_stream(gpu.current_stream())
        with gpu.stream(late):
            read.append(lengths * 1)
    gpu.synchronize()
    return [one.item() for one in read], [3, 7]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    lengths = torch.zeros(1, dtype=torch.int64, device=device)
    late = gpu.Stream()
    read = []
    kept = []
    for step in (3, 7):
        lengths.copy_(torch.tensor([step], pin_memory=True), non_blocking=True)
        own = lengths.clone()
        kept.append(own)
        late.wait_stream(gpu.current_stream())
        with gpu.stream(late):
            read.append(own * 1)
    gpu.synchronize()
    return [one.item() for one in read], [3, 7]


CASE = Case(
    id="Z67",
    title="The next chunk overwrites a device buffer before its late reader",
    public_id="vllm-project/vllm#48901",
    kind=DEVICE_BUFFER,
    guard=OTHER_STEP,
    symptom=(
        "Reranker scores near zero for long inputs, with a compiled model and chunked prefill only."
    ),
    mechanism=(
        "As the reviewers read it, the one device input buffer is filled for the next chunk "
        "before a late reader of this chunk ran. The reader is ordered after the write, but the "
        "next write is not ordered after the reader."
    ),
    repair=(
        "A synchronise of the device as a stop-gap. The real answer was named too: a second "
        "buffer, or a copy for each step."
    ),
    broken=broken,
    fixed=fixed,
    culprit="lengths.copy_(torch.tensor([step], pin_memory=True), non_blocking=True)",
    wrong=[7, 7],
)
