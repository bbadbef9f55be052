"""Z71: a shared bucket is acknowledged before every rank has copied it."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import MISPLACED
from pinlab.casebook.kinds import SHARED_MEMORY


def broken(device: torch.device) -> tuple[Any, Any]:
    bucket = torch.tensor([1]).share_memory_()
    weights = {}

    def receive(rank: int) -> None:
        weights[rank] = bucket.to("cpu")

    def acknowledge() -> None:
        bucket[0] = 2

    receive(0)
    acknowledge()
    receive(1)
    return [weights[rank].item() for rank in (0, 1)], [1, 1]


def fixed(device: torch.device) -> tuple[Any, Any]:
    bucket = torch.tensor([1]).share_memory_()
    weights = {}

    def receive(rank: int) -> None:
        weights[rank] = bucket.to("cpu", copy=True)

    def acknowledge() -> None:
        bucket[0] = 2

    receive(0)
    receive(1)
    acknowledge()
    return [weights[rank].item() for rank in (0, 1)], [1, 1]


CASE = Case(
    id="Z71",
    title="A shared bucket acknowledged before every rank has copied it",
    public_id="modelscope/ms-swift#10207",
    kind=SHARED_MEMORY,
    guard=MISPLACED,
    symptom=(
        "With tensor parallelism, the first rollout after the weights were synchronised is "
        "corrupted."
    ),
    mechanism=(
        "The driver acknowledges a shared bucket before the other ranks have copied it, so the "
        "sender overwrites it. And where the receiver is a CPU, to() does not copy, so its "
        "weights stay aliases of the shared memory."
    ),
    repair=(
        "Acknowledge after the barrier, and force a copy. The tests let the sender overwrite at "
        "once and the peers copy late."
    ),
    broken=broken,
    fixed=fixed,
    culprit="bucket[0] = 2",
    wrong=[2, 2],
)
