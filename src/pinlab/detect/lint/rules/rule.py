"""A rule: its id, its name, what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.occurrences import Occurrence, Spot

Judge = Callable[[Occurrence], Finding | None]


@dataclass(frozen=True)
class Rule:
    """`judge` turns one occurrence into a finding, or into None."""

    id: str
    name: str
    summary: str
    judge: Judge | None = None
    optional: bool = False

    def __repr__(self) -> str:
        return f"<Rule {self.id} {self.name}{', opt-in' if self.optional else ''}>"


def finding(rule: str, spot: Spot, level: Level, message: str) -> Finding:
    """A finding of `rule` at `spot`."""
    return Finding(spot.path, spot.line, rule, level, message)


def called(function: str) -> str:
    """``step()`` for a function, words for the module's own code."""
    return "the module's own code" if function == "<module>" else f"`{function}()`"
