"""Z68: read-only data is changed through a tensor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import PLATFORM
from pinlab.casebook.kinds import OWNERSHIP_LOST


def broken(device: torch.device) -> tuple[Any, Any]:
    store = np.array([1, 2])
    store.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = torch.from_numpy(store)
    mine.add_(10)
    return store.tolist(), [1, 2]


def fixed(device: torch.device) -> tuple[Any, Any]:
    store = np.array([1, 2])
    store.flags.writeable = False
    mine = torch.from_numpy(store.copy())
    mine.add_(10)
    return store.tolist(), [1, 2]


CASE = Case(
    id="Z68",
    title="Read-only numpy data changed through a tensor",
    public_id="pytorch/pytorch#5442",
    kind=OWNERSHIP_LOST,
    guard=PLATFORM,
    symptom="An array that numpy protects from writing can be changed through a tensor.",
    mechanism=(
        "from_numpy shares the memory and drops the flag that forbids writing (with one warning "
        "today). A store of immutable objects gets them changed behind its back."
    ),
    repair="A warning and documentation. Programs built on it copy first.",
    broken=broken,
    fixed=fixed,
    culprit="mine.add_(10)",
    wrong=[11, 12],
)
