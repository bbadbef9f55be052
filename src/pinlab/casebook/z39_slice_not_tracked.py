"""Z39: an allocator does not recognise a slice of a pinned block."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import PLATFORM
from pinlab.casebook.kinds import FREED_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    batch = torch.tensor([1, 2, 3, 4], pin_memory=True)
    there = batch[2:4].to(device, non_blocking=True)
    del batch
    _other = torch.tensor([8, 8, 8, 8], pin_memory=True)
    gpu.synchronize()
    return there.tolist(), [3, 4]


def fixed(device: torch.device) -> tuple[Any, Any]:
    with sim.platform(sim.Platform(track_by="storage")):
        return broken(device)


CASE = Case(
    id="Z39",
    title="The host allocator misses a slice at an offset",
    public_id="pytorch/pytorch#68749",
    kind=FREED_TOO_EARLY,
    guard=PLATFORM,
    symptom="Data is lost when slices of a pinned batch are uploaded with non_blocking.",
    mechanism=(
        "The host allocator looked a block up by the address of the tensor's data, and so did "
        "not see an upload from a slice at an offset. The block could be handed out again "
        "during the upload."
    ),
    repair=(
        "The block is recognised by its storage as well as by the address. The first fix broke "
        "a second case and had to be taken back."
    ),
    broken=broken,
    fixed=fixed,
    culprit="_other = torch.tensor([8, 8, 8, 8], pin_memory=True)",
    wrong=[8, 8],
    platform=sim.Platform(track_by="data_ptr"),
)
