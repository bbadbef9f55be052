"""Z29: a tensor brought back with `non_blocking` is read before its bytes arrive."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import NEVER_WRITTEN, Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import READ_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    there = torch.tensor([1, 2, 3]).to(device) * 2
    back = there.to("cpu", non_blocking=True)
    observed = back.tolist()
    return observed, [2, 4, 6]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    there = torch.tensor([1, 2, 3]).to(device) * 2
    back = there.to("cpu", non_blocking=True)
    gpu.current_stream().synchronize()
    observed = back.tolist()
    return observed, [2, 4, 6]


CASE = Case(
    id="Z29",
    title="A non-blocking round trip read before it is over",
    public_id="pytorch/pytorch#127612",
    kind=READ_TOO_EARLY,
    guard=BESIDE,
    symptom="After a round trip the norm of the difference is large; not on every machine.",
    mechanism=(
        "A non-blocking download to the CPU lands in new pinned memory and returns at once. The "
        "host reads whatever stood there before."
    ),
    repair="None in the code: synchronise before reading. The documentation got better over time.",
    broken=broken,
    fixed=fixed,
    culprit="observed = back.tolist()",
    wrong=[NEVER_WRITTEN] * 3,
)
