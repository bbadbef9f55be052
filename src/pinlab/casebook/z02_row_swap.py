"""Z02: two rows are swapped by tuple assignment of views."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import BESIDE
from pinlab.casebook.kinds import HOST_ALIAS


def broken(device: torch.device) -> tuple[Any, Any]:
    allowed = torch.tensor([1, 2])
    allowed[0], allowed[1] = allowed[1], allowed[0]
    return allowed.tolist(), [2, 1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    allowed = torch.tensor([1, 2])
    allowed[[0, 1]] = allowed[[1, 0]]
    return allowed.tolist(), [2, 1]


CASE = Case(
    id="Z02",
    title="Rows swapped by tuple assignment of views",
    public_id="vllm-project/vllm#48419",
    kind=HOST_ALIAS,
    guard=BESIDE,
    symptom="A request loses its restriction to allowed tokens after the batch was reordered.",
    mechanism=(
        "Integer indexing gives views, so the right-hand side of the swap still points at live "
        "rows. The second assignment reads a row that the first one has overwritten."
    ),
    repair="Lists of rows as the index, which copy, as the code nearby did already.",
    broken=broken,
    fixed=fixed,
    culprit="allowed[0], allowed[1] = allowed[1], allowed[0]",
    wrong=[2, 2],
)
