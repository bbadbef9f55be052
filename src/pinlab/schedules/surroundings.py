"""The settings that a program runs under, so that another process can put them in force too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from pinlab.sim.control import fill
from pinlab.sim.platform import Platform, current_platform, platform
from pinlab.sim.state import device_memory


@dataclass(frozen=True)
class Surroundings:
    """What outcomes may depend on besides the program.

    Attributes:
        rules: the platform in force. fill: the byte in fresh memory, or None for old bytes.
        threads: of torch's own operators; sums of floats depend on it.
        dtype: torch's default. grad: whether autograd records.
    """

    rules: Platform
    fill: int | None
    threads: int
    dtype: torch.dtype
    grad: bool

    @classmethod
    def now(cls) -> Surroundings:
        """Those of this process.

        >>> Surroundings.now().rules
        Platform(stage_pageable_uploads=True, ..., pinning=True)
        """
        threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
        grad = torch.is_grad_enabled()
        return cls(current_platform(), device_memory.fill, threads, dtype, grad)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Put them in force for a block."""
        before = Surroundings.now()
        try:
            with platform(self.rules), torch.set_grad_enabled(self.grad):
                self._set()
                yield
        finally:
            before._set()

    def _set(self) -> None:
        fill(self.fill)
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        torch.set_default_dtype(self.dtype)
