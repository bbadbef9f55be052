"""How often something happened, and how sure that makes us."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Rate:
    """`hits` of `tries` independent tries.

    >>> Rate(9, 10)
    Rate: 9 of 10, 90 %, 95 % interval 60 % to 98 %
    """

    hits: int
    tries: int

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"tries={self.tries}; it must be 1 or more")
        if not 0 <= self.hits <= self.tries:
            raise ValueError(f"hits={self.hits}; it must be from 0 to tries={self.tries}")

    @property
    def value(self) -> float:
        """The share of hits, 0.0 to 1.0."""
        return self.hits / self.tries

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Wilson's score interval (1927) for the true rate, two numbers within 0.0 … 1.0.

        Unlike the rate plus or minus its standard error it keeps its sense at 0 and at all hits:

        >>> low, high = Rate(0, 5).interval()
        >>> low, round(high, 3)
        (0.0, 0.434)
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence}; it must be between 0 and 1")
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        weight = z * z / self.tries
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.tries + weight / (4 * self.tries)
        half = z * spread**0.5 / (1 + weight)
        # At the ends the two terms are equal but for rounding.
        low = 0.0 if self.hits == 0 else middle - half
        high = 1.0 if self.hits == self.tries else middle + half
        return low, high

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"Rate: {self.hits} of {self.tries}, {self.value:.0%}".replace("%", " %")
            + f", 95 % interval {low * 100:.0f} % to {high * 100:.0f} %"
        )
