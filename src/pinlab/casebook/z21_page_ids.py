"""Z21: the ids of pages to zero go through one pinned buffer and one on the device."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import REFILLED_BUFFER


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    pages = torch.ones(4, dtype=torch.int64, device=device)
    ids = torch.tensor([0], pin_memory=True)
    ids_there = torch.zeros(1, dtype=torch.int64, device=device)

    def zero_page(page: int) -> None:
        ids[0] = page
        ids_there.copy_(ids, non_blocking=True)
        pages.index_fill_(0, ids_there, 0)

    zero_page(0)
    zero_page(2)
    gpu.synchronize()
    return pages.tolist(), [0, 1, 0, 1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    pages = torch.ones(4, dtype=torch.int64, device=device)

    def zero_page(page: int) -> None:
        ids = torch.tensor([page], pin_memory=True)
        ids_there = ids.to(device, non_blocking=True)
        pages.index_fill_(0, ids_there, 0)

    zero_page(0)
    zero_page(2)
    gpu.synchronize()
    return pages.tolist(), [0, 1, 0, 1]


CASE = Case(
    id="Z21",
    title="Ids of the pages to zero overwritten by the next call",
    public_id="vllm-project/vllm#48085",
    kind=REFILLED_BUFFER,
    guard=OTHER_STEP,
    symptom=(
        "Garbage text with hybrid models and speculative decoding: the wrong KV pages get zeroed."
    ),
    mechanism=(
        "The list of page ids goes through one pinned buffer and one device buffer that live "
        "on. A second call overwrites the ids before the first upload has read them."
    ),
    repair=(
        "First a guard; then no more persistent buffers, but a fresh pinned tensor for each call."
    ),
    broken=broken,
    fixed=fixed,
    culprit="ids[0] = page",
    wrong=[1, 1, 0, 1],
)
