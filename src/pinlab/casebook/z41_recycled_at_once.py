"""Z41: a platform recycles pinned blocks at once."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.casebook.case import Case
from pinlab.casebook.guards import PLATFORM
from pinlab.casebook.kinds import FREED_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)

    def upload(values: list[int]) -> torch.Tensor:
        return torch.tensor(values).pin_memory().to(device, non_blocking=True)

    first = upload([5, 6])
    upload([1048797440, 0])
    gpu.synchronize()
    return first.tolist(), [5, 6]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    in_flight = []

    def upload(values: list[int]) -> torch.Tensor:
        source = torch.tensor(values).pin_memory()
        there = source.to(device, non_blocking=True)
        in_flight.append((gpu.current_stream().record_event(), source))
        in_flight[:] = [entry for entry in in_flight if not entry[0].query()]
        return there

    first = upload([5, 6])
    upload([1048797440, 0])
    gpu.synchronize()
    return first.tolist(), [5, 6]


CASE = Case(
    id="Z41",
    title="A platform whose host allocator recycles at once",
    public_id="vllm-project/vllm-ascend#15746",
    kind=FREED_TOO_EARLY,
    guard=PLATFORM,
    symptom="Index out of range, with absurd indices, at high concurrency.",
    mechanism=(
        "A pinned temporary is uploaded and dropped in one expression, which is fine where "
        "freed pinned blocks wait for their streams. The host allocator of that accelerator "
        "handed the block out again at once."
    ),
    repair=(
        "The pinned sources stay in a list until an event says that their uploads are over; the "
        "event is polled, so the host does not stall."
    ),
    broken=broken,
    fixed=fixed,
    culprit="return torch.tensor(values).pin_memory().to(device, non_blocking=True)",
    wrong=[1048797440, 0],
    platform=sim.Platform(host_allocator_tracks=False),
)
