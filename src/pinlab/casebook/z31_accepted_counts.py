"""Z31: accepted token counts are read one step later, with no wait in between."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_STEP
from pinlab.casebook.kinds import READ_TOO_EARLY


def broken(device: torch.device) -> tuple[Any, Any]:
    accepted = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    counts = accepted.numpy()
    there = torch.tensor([3, 1]).to(device) + 0
    accepted.copy_(there, non_blocking=True)
    observed = counts.tolist()
    return observed, [3, 1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    accepted = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    counts = accepted.numpy()
    there = torch.tensor([3, 1]).to(device) + 0
    accepted.copy_(there, non_blocking=True)
    arrived = gpu.current_stream().record_event()
    arrived.synchronize()
    observed = counts.tolist()
    return observed, [3, 1]


CASE = Case(
    id="Z31",
    title="Accepted token counts read through a numpy view one step later",
    public_id="vllm-project/vllm#36013",
    kind=READ_TOO_EARLY,
    guard=OTHER_STEP,
    symptom="A hybrid model with speculative decoding sometimes goes on from the wrong state.",
    mechanism=(
        "The counts are downloaded into pinned memory and read through a numpy view in the next "
        "step. Asynchronous scheduling took away the wait that used to lie in between."
    ),
    repair="An event is recorded after the download, and waited for right before the read.",
    broken=broken,
    fixed=fixed,
    culprit="observed = counts.tolist()",
    wrong=[0, 0],
    unseen={
        "hazards": (
            "numpy reads through an array that was made before the download was queued, and leaves "
            "no trace."
        ),
    },
)
