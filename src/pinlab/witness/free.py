"""The schedule is left to chance: no gate, and a count of what came out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pinlab.device.measure import wilson
from pinlab.witness.on_opencl import OpenCLQueue
from pinlab.witness.program import FIRST, next_batch


@dataclass(frozen=True)
class Tally:
    """What came out of how many tries.

    Attributes:
        received: what the device received, with its number of tries, most frequent first.

    >>> Tally((((2, 4, 8), 3), ((3, 5, 9), 1)))
    Tally: 1 of 4 wrong, 95 % interval 5 % to 70 %
    """

    received: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def tries(self) -> int:
        """All of them."""
        return sum(count for _, count in self.received)

    @property
    def wrong(self) -> int:
        """Tries in which the device did not receive the first batch's lengths."""
        return sum(count for lengths, count in self.received if lengths != FIRST)

    @property
    def rate(self) -> float:
        """The share of wrong tries, 0.0 to 1.0."""
        return self.wrong / self.tries

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate."""
        return wilson(self.wrong, self.tries)

    def __repr__(self) -> str:
        low, high = self.interval
        share = f"95 % interval {low * 100:.0f} % to {high * 100:.0f} %"
        return f"Tally: {self.wrong} of {self.tries} wrong, {share}"


def free(repair: str, tries: int, turns: int = 0) -> Tally:
    """Run the program on OpenCL so many times, each on a queue of its own that runs by itself.

    Args:
        repair: as for `next_batch`.
        tries: 1 or more.
        turns: keeps the queue busy before the upload; 0 leaves it idle.

    Raises:
        OpenCLMissingError: without PyOpenCL or PoCL.
        ValueError: for less than one try.
    """
    if tries < 1:
        raise ValueError(f"tries={tries}; it must be 1 or more")
    received: Counter[tuple[int, ...]] = Counter()
    for _ in range(tries):
        with OpenCLQueue(turns=turns) as queue:
            received[tuple(next_batch(queue, repair))] += 1
    return Tally(tuple(received.most_common()))
