"""Memory that exists before the program: saved once, put back before each execution."""

from __future__ import annotations

import torch

from pinlab.sim.state import device_memory, host_memory


class Checkpoint:
    """The bytes of all live pinned blocks and device tensors.

    Ordinary (pageable) memory is not covered: a program that changes it for good gives another
    value the second time, and `explore` refuses it.
    """

    def __init__(self) -> None:
        self.saved = [(memory, memory.clone()) for memory in _live()]

    def restore(self) -> None:
        """Put the bytes back."""
        for memory, before in self.saved:
            memory.copy_(before)


def _live() -> list[torch.Tensor]:
    pinned = [block.memory for block in host_memory.in_use()]
    return [*pinned, *(block.memory for block in device_memory.alive())]
