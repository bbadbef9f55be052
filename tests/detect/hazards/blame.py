"""Runs a program under `hazards()` and tells which lines it blames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab import sim
from pinlab.detect.hazards import Findings, Kind, hazards
from pinlab.sim import Place

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
Program = Callable[[], object]


def watched(program: Program, lines: bool = False) -> Findings:
    """What is found while the program runs and until all its work is done."""
    with hazards(lines=lines) as found:
        program()
    gpu.synchronize()
    return found


def blamed(found: Findings) -> list[tuple[Kind, str]]:
    """Kind and source text of the line to blame, for each finding."""
    return [
        (hazard.kind, hazard.written_at.source if isinstance(hazard.written_at, Place) else "")
        for hazard in found
    ]


def blames(program: Program, lines: bool = True) -> list[tuple[Kind, str]]:
    """The same for a program that is run for it, by default with exact lines."""
    return blamed(watched(program, lines))
