"""Z05: a checkpoint stages a CPU tensor by reference."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import HOST_ALIAS


def broken(device: torch.device) -> tuple[Any, Any]:
    weight = torch.tensor([1])
    staged = weight.to("cpu")
    saved = []

    def write_to_disk() -> None:
        saved.append(staged.item())

    weight.add_(1)
    write_to_disk()
    return saved, [1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    weight = torch.tensor([1])
    staged = weight.to("cpu", copy=True)
    saved = []

    def write_to_disk() -> None:
        saved.append(staged.item())

    weight.add_(1)
    write_to_disk()
    return saved, [1]


CASE = Case(
    id="Z05",
    title="A checkpoint stages CPU tensors by reference",
    public_id="pytorch/pytorch#144657",
    kind=HOST_ALIAS,
    guard=OTHER_PART,
    symptom="An asynchronous checkpoint contains weights from after the next optimizer step.",
    mechanism=(
        "Staging copies device tensors to the CPU, but for a tensor that is there already, to() "
        "returns the tensor itself. The training loop updates it before the writer has written "
        "it."
    ),
    repair=(
        "Asked for: the call returns only once CPU tensors are copied too. A new stager followed."
    ),
    broken=broken,
    fixed=fixed,
    culprit="weight.add_(1)",
    wrong=[2],
)
