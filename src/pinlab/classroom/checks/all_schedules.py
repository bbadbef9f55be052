"""Run an exercise's program under every schedule, the learner's lines included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinlab.schedules import Raised, Report, explore

LIMIT = 400  # schedules, about two seconds
TOO_MANY = (
    f"More than {LIMIT} schedules, so it cannot be proved here. A loop that asks query() makes a "
    "new moment for the device in each round: let synchronize() wait instead."
)


def explored(program: Callable[[], Any], expect: Any, *learners: Callable[..., Any]) -> Report:
    """What `program` gives; the lines of the learner's functions are steps of the host too."""
    return explore(program, expect=expect, trace=learners, max_schedules=LIMIT)


def told(report: Report) -> str:
    """The schedule that breaks a program, and what it gives: ``"schedule “h” gives [1]"``."""
    failed = report.counterexample
    value = next(o for o, ways in report.outcomes.items() if failed in ways)
    raised = isinstance(value.value, Raised)
    return f"schedule “{failed}” {'raises' if raised else 'gives'} {value}"
