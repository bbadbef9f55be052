"""Z53: a block is freed while another stream still downloads from it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    embeddings = torch.tensor([7]).to(device)
    stash = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    side = gpu.Stream()
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        stash.copy_(embeddings, non_blocking=True)
    del embeddings
    _other = torch.full((1,), -1, device=device)
    gpu.synchronize()
    return stash.item(), 7


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    embeddings = torch.tensor([7]).to(device)
    stash = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    side = gpu.Stream()
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        stash.copy_(embeddings, non_blocking=True)
    embeddings.record_stream(side)
    del embeddings
    _other = torch.full((1,), -1, device=device)
    gpu.synchronize()
    return stash.item(), 7


CASE = Case(
    id="Z53",
    title="Embeddings freed while a side stream still stashes them",
    public_id="meta-pytorch/torchrec#4231",
    kind=STREAMS_UNORDERED,
    guard=BESIDE,
    symptom="NaN after embeddings were stashed in host memory.",
    mechanism=(
        "A side stream downloads the embeddings, and their storage is released at once. The "
        "next allocation of the main stream takes the block and writes it first."
    ),
    repair="record_stream on the source before it is released.",
    broken=broken,
    fixed=fixed,
    culprit="_other = torch.full((1,), -1, device=device)",
    wrong=-1,
)
