"""Z01: prompt lengths are handed out as a view of rows that are edited later."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.guards import OTHER_PART
from pinlab.casebook.kinds import HOST_ALIAS


def broken(device: torch.device) -> tuple[Any, Any]:
    lengths = torch.zeros(4, dtype=torch.int64, pin_memory=True)
    rows = lengths.numpy()
    rows[:3] = [5, 7, 9]
    handed_out = torch.from_numpy(rows[:3])
    rows[1] = rows[2]
    rows[2] = 40
    return handed_out.tolist(), [5, 7, 9]


def fixed(device: torch.device) -> tuple[Any, Any]:
    lengths = torch.zeros(4, dtype=torch.int64, pin_memory=True)
    rows = lengths.numpy()
    rows[:3] = [5, 7, 9]
    handed_out = torch.from_numpy(rows[:3].copy())
    rows[1] = rows[2]
    rows[2] = 40
    return handed_out.tolist(), [5, 7, 9]


CASE = Case(
    id="Z01",
    title="Prompt lengths handed out as a view of the runner's rows",
    public_id="vllm-project/vllm#37775",
    kind=HOST_ALIAS,
    guard=OTHER_PART,
    symptom="Rerank and pooling scores differ from run to run.",
    mechanism=(
        "The prompt lengths were a from_numpy view of a buffer that the runner keeps. Adding "
        "requests and closing gaps edits that buffer before the pooler reads the view."
    ),
    repair=(
        "A private copy of the slice. The change was found by bisecting: another one had made a "
        "plain array pinned before."
    ),
    broken=broken,
    fixed=fixed,
    culprit="rows[1] = rows[2]",
    wrong=[5, 9, 40],
)
