"""Small programs that are put before `explore` and `hazards`, in lists of bugs and look-alikes.

In a bug, the line that does the damage carries the mark ``# culprit``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pinlab import sim
from pinlab.detect.hazards import Findings, hazards
from pinlab.device import pick_device
from pinlab.schedules import explore
from pinlab.sim.platform import CUDA

device = pick_device()
gpu: Any = torch.get_device_module(device)
UNTRACKED = sim.Platform(host_allocator_tracks=False)
CULPRIT = "# culprit"
Note = Callable[[Callable[[], Any]], Callable[[], Any]]


@dataclass(frozen=True)
class Variant:
    """A program, its right value, the platform, and why `hazards` says nothing ("" if it does)."""

    program: Callable[[], Any]
    right: Any
    platform: sim.Platform
    unseen: str

    def __repr__(self) -> str:
        return self.program.__name__


class Collection(list[Variant]):
    """Variants of one sort; decorate a program with the right value to add it."""

    def __call__(self, right: Any, platform: sim.Platform = CUDA, unseen: str = "") -> Note:
        def note(program: Callable[[], Any]) -> Callable[[], Any]:
            self.append(Variant(program, right, platform, unseen))
            return program

        return note


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, pin_memory=True)


def on_device(*values: int) -> torch.Tensor:
    return torch.tensor(values).to(device)


def watched(variant: Variant) -> Findings:
    sim.reset()
    with sim.platform(variant.platform), sim.mode("lazy"), hazards(lines=True) as found:
        variant.program()
    return found


def check_found(variant: Variant) -> None:
    """The explorer finds the bug, and `hazards` names its line."""
    with sim.platform(variant.platform):
        report = explore(variant.program, expect=variant.right)
    assert report.counterexample is not None, report.certificate()
    assert variant.right in list(report.outcomes), report.certificate()
    found = watched(variant)
    lines = [one.written_at.source for one in found if isinstance(one.written_at, sim.Place)]
    assert any(CULPRIT in line for line in lines) == (not variant.unseen), str(found)


def check_quiet(variant: Variant) -> None:
    """It is right in every schedule, and nobody complains."""
    with sim.platform(variant.platform):
        report = explore(variant.program, expect=variant.right)
    assert report.correct, report.certificate()
    found = watched(variant)
    assert not found, str(found)
