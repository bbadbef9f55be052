"""The link between host and device: how long a copy takes in `threaded` mode."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A transfer of n bytes takes ``latency + n / bandwidth`` seconds.

    The bytes move at the end of that time, all at once: a simplification of this model.

    Args:
        latency: seconds per transfer, zero or more.
        bandwidth: bytes per second, above zero.

    >>> Link(latency=10e-6, bandwidth=1e9).seconds(1_000_000)
    0.00101
    """

    latency: float = 20e-6
    bandwidth: float = 16e9

    def __post_init__(self) -> None:
        for name, value in (("latency", self.latency), ("bandwidth", self.bandwidth)):
            if not isinstance(value, int | float):
                raise TypeError(f"{name} is {value!r}; it must be a number")
        if not 0 <= self.latency < math.inf:
            raise ValueError(f"latency is {self.latency} s; it must be 0 or more, and finite")
        if not self.bandwidth > 0:
            raise ValueError(f"bandwidth is {self.bandwidth} bytes/s; it must be above 0")

    def seconds(self, nbytes: int) -> float:
        """How long a transfer of `nbytes` bytes takes."""
        return self.latency + nbytes / self.bandwidth
