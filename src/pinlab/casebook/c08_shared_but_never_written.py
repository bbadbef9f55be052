"""C08: an array is shared, and nobody writes to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import HOST_ALIAS


def broken(device: torch.device) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    table = np.array([5, 7, 9])
    view = torch.from_numpy(table)
    there = view.to(device, non_blocking=True)
    gpu.synchronize()
    return [view.tolist(), there.tolist()], [[5, 7, 9], [5, 7, 9]]


CASE = Case(
    id="C08",
    title="An alias of an array that nobody writes to",
    public_id="cupy/cupy#7821",
    kind=HOST_ALIAS,
    symptom="A tensor and an array share their memory, although nobody asked for it.",
    mechanism=(
        "Sharing alone is no fault: it takes a writer. Users of this library ask for the sharing."
    ),
    repair="None needed.",
    broken=broken,
)
