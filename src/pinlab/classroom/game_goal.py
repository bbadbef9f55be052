"""What a player of the scheduler game is to bring about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinlab.schedules import Outcome, Report


@dataclass(frozen=True)
class Goal:
    """A goal; make one with `wrong`, `value`, `right` or `certified`.

    Attributes:
        kind: ``"wrong"``, ``"value"``, ``"right"`` or ``"certified"``.
        expect: the right value: what the program is meant to return.
        wanted: for ``"value"``, what is to come out instead.

    >>> print(Goal.wrong(expect=[5, 7]))
    make it wrong: anything but [5, 7]
    """

    kind: str
    expect: Any
    wanted: Any = None

    @classmethod
    def wrong(cls, expect: Any) -> Goal:
        """Find a schedule under which something else than `expect` comes out."""
        return cls("wrong", expect)

    @classmethod
    def value(cls, wanted: Any, expect: Any) -> Goal:
        """Find a schedule under which exactly `wanted` comes out."""
        return cls("value", expect, wanted)

    @classmethod
    def right(cls, expect: Any) -> Goal:
        """Find a schedule under which `expect` comes out."""
        return cls("right", expect)

    @classmethod
    def certified(cls, expect: Any) -> Goal:
        """Claim that `expect` comes out under every schedule; the explorer decides."""
        return cls("certified", expect)

    def reached(self, outcome: Outcome | None, report: Report | None) -> bool:
        """Whether an outcome, or for ``"certified"`` a report, is what was asked for."""
        if self.kind == "certified":
            return report is not None and report.correct
        if outcome is None:
            return False
        if self.kind == "wrong":
            return outcome != Outcome(self.expect)
        return outcome == Outcome(self.wanted if self.kind == "value" else self.expect)

    def __str__(self) -> str:
        return {
            "wrong": f"make it wrong: anything but {self.expect!r}",
            "value": f"make it return {self.wanted!r}; right is {self.expect!r}",
            "right": f"make it right: {self.expect!r}",
            "certified": f"certify it: {self.expect!r} under every schedule",
        }[self.kind]

    __repr__ = __str__
