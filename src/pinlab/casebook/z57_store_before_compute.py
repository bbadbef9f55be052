"""Z57: a store stream does not wait for the compute stream."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import STREAMS_UNORDERED


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    block = torch.zeros(1, dtype=torch.int64, device=device)
    host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    store = gpu.Stream()
    store.wait_stream(gpu.current_stream())
    block.fill_(8)
    with gpu.stream(store):
        host.copy_(block, non_blocking=True)
    gpu.synchronize()
    return host.item(), 8


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    block = torch.zeros(1, dtype=torch.int64, device=device)
    host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    store = gpu.Stream()
    store.wait_stream(gpu.current_stream())
    block.fill_(8)
    computed = gpu.current_stream().record_event()
    store.wait_event(computed)
    with gpu.stream(store):
        host.copy_(block, non_blocking=True)
    gpu.synchronize()
    return host.item(), 8


CASE = Case(
    id="Z57",
    title="A store stream that does not wait for the compute stream",
    public_id="vllm-project/vllm#45704",
    kind=STREAMS_UNORDERED,
    guard=OTHER_STEP,
    symptom="Garbled text after KV blocks come back from the host, only under load.",
    mechanism=(
        "The host issues the store one step after the block was written. That is an order of "
        "the host's calls, not of the two streams, so the download can read a block that is not "
        "written yet."
    ),
    repair="An event is recorded on the compute stream, and the store stream waits for it.",
    broken=broken,
    fixed=fixed,
    culprit="host.copy_(block, non_blocking=True)",
    wrong=0,
)
