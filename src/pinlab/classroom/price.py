"""What the honest use of a buffer costs, counted, not timed: waits of the host, bytes it copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pinlab import sim
from pinlab.classroom.attackers import EXPECTED, Make, attacked
from pinlab.figures.attack_table import Tried

COPIES = ("aten::clone", "aten::copy_", "aten::_pin_memory")
STEPS = 4


@dataclass(frozen=True)
class Price:
    """Counts of some steps: waits of the host for the device, bytes copied from host to host."""

    waits: int
    copied: int

    def __repr__(self) -> str:
        return f"{self.waits} waits, {self.copied:,} bytes copied"


class HostCopies(TorchDispatchMode):
    """Counts the bytes that torch copies from host memory to host memory. Not numpy's own."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nbytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [a for a in (*args, result) if isinstance(a, torch.Tensor)]
        on_host = all(tensor.device.type == "cpu" for tensor in tensors)
        if on_host and func._schema.name in COPIES:
            self.nbytes += result.nbytes
        return result


def price(make: Make, steps: int = STEPS) -> Price:
    """Counts of `steps` steps of 3 rows, each written and uploaded, none read.

    A wait that finds nothing left to wait for is counted.

    >>> from pinlab.device import pick_device
    >>> from pinlab.serving import DoubleBuffer, InFlightBuffer
    >>> price(lambda size: InFlightBuffer("lens", size, device=pick_device()))
    3 waits, 96 bytes copied
    >>> price(lambda size: DoubleBuffer("lens", size, device=pick_device()))
    2 waits, 96 bytes copied
    """
    buffer = make(3)
    with sim.mode("eager"), sim.record() as run, HostCopies() as copies:
        for step in range(steps):
            with buffer.writing() as rows:
                rows[:] = step
            buffer.upload()
    return Price(sum(event.kind == "wait" for event in run.host), copies.nbytes)


def tried(name: str, make: Make) -> Tried:
    """One design under every attack, with its price; a row of `figures.attack_table`."""
    reports = {attacker.__name__: attacked(make, attacker) for attacker in EXPECTED}
    cost = price(make)
    return Tried(name, reports, cost.waits, cost.copied)
