"""What one way to get host memory costs: seconds and page faults, measured here and now."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from pinlab.sim.counters import minor_faults


@dataclass(frozen=True)
class Cost:
    """A measured cost.

    Attributes:
        way: what was done, in a few words, e.g. ``"pinned, new"``.
        nbytes: the size asked for.
        seconds: shortest time of one go; what is longer was held up by something else.
        faults: median of the minor page faults of one go; None where the system has no count.
    """

    way: str
    nbytes: int
    seconds: float
    faults: int | None

    def __repr__(self) -> str:
        faults = "faults not counted" if self.faults is None else f"{self.faults} page faults"
        return f"<{self.way}, {self.nbytes:,} bytes: {self.seconds * 1e6:.1f} µs, {faults}>"


def measure(
    way: str, nbytes: int, make: Callable[[], object], repeats: int = 5, keep: bool = True
) -> Cost:
    """Run `make` a few times; take the shortest time and the median count of faults.

    Args:
        way: a name for the result.
        nbytes: what `make` asks for; it goes into the result as it is.
        make: gets the memory, and writes it if the cost of the first write is wanted.
        repeats: 1 or more.
        keep: hold every result until the last go is over, so that no go gets the memory of an
            earlier one from a cache. False drops each at once.

    >>> measure("a bytearray", 4096, lambda: bytearray(4096)).way
    'a bytearray'
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats}; it must be 1 or more")
    if nbytes < 0:
        raise ValueError(f"nbytes={nbytes}; it must be 0 or more")
    kept: list[object] = []
    seconds: list[float] = []
    faults: list[int | None] = []
    for _ in range(repeats):
        before, began = minor_faults(), time.perf_counter()
        result = make()
        seconds.append(time.perf_counter() - began)
        faults.append((minor_faults() - before).value)
        if keep:
            kept.append(result)
        del result
    counted = [count for count in faults if count is not None]
    typical = round(statistics.median(counted)) if counted else None
    return Cost(way, nbytes, min(seconds), typical)
