"""A form of a case as a program without arguments, as `explore` wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab import sim
from pinlab.device import pick_device

Program = Callable[[torch.device], tuple[Any, Any]]


class CaseProgram:
    """Runs a form under its platform's rules and returns what it observed.

    Args:
        form: a function of a device that returns (observed, expected).
        platform: the rules. name: what reports call it.
    """

    def __init__(self, form: Program, platform: sim.Platform, name: str) -> None:
        self.__wrapped__ = form  # its file's lines are the ones that count
        self.platform = platform
        self.__name__ = name
        self.device = pick_device()

    def __call__(self) -> Any:
        with sim.platform(self.platform):
            return self.__wrapped__(self.device)[0]

    def __repr__(self) -> str:
        return self.__name__
