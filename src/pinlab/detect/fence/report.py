"""What the fence found, over all runs of the child."""

from __future__ import annotations

from dataclasses import dataclass, field

from pinlab.detect.fence.access import Access
from pinlab.detect.hazards.hazard import Findings


@dataclass
class FenceReport:
    """What the fence found.

    Attributes:
        hits: accesses to bytes of a pending operation, one for each pair of lines and kind.
        misses: lines that touched the same page but other bytes: no hazards.
        runs: how often the program was started.
        ended: how its last run ended: ``"finished"``, ``"raised …"``, or why there is no more.
        status: its exit status, if it was a script.
        out, err: what its last run printed.
    """

    hits: list[Access] = field(default_factory=list)
    misses: list[Access] = field(default_factory=list)
    runs: int = 0
    ended: str = ""
    status: int = 0
    out: str = field(default="", repr=False)
    err: str = field(default="", repr=False)

    @property
    def hazards(self) -> Findings:
        """The hits, in the form that `hazards()` has."""
        return Findings(access.hazard() for access in self.hits)

    @property
    def complete(self) -> bool:
        """Whether the program ran to its end: only then does "no hazards" speak for all of it."""
        return self.ended == "finished"

    def __repr__(self) -> str:
        count = len(self.hits)
        found = "no hazards" if not count else f"{count} hazard{'s' * (count > 1)}"
        so_far = "" if self.complete else f", as far as it came: {self.ended}"
        times = f"{self.runs} run{'s' * (self.runs > 1)}"
        lines = [f"{found} in {times} behind the fence{so_far}"]
        lines += [str(access) for access in (*self.hits, *self.misses)]
        return "\n".join(lines)

    __str__ = __repr__
