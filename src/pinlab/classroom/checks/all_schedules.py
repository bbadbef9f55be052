"""Run an exercise's program under every schedule, the learner's lines included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pinlab.classroom.checks.attempt import LearnerError
from pinlab.schedules import NondeterministicProgramError, Raised, Report, explore

LIMIT = 400  # schedules, about two seconds
TOO_MANY = (
    f"More than {LIMIT} schedules, so it cannot be proved here. A loop that asks query() makes a "
    "new moment for the device in each round: let synchronize() wait instead."
)


def explored(program: Callable[[], Any], expect: Any, *learners: Callable[..., Any]) -> Report:
    """What `program` gives; the lines of the learner's functions are steps of the host too.

    Raises:
        LearnerError: if that decides nothing: too many schedules and none of them wrong, or two
            runs that differ under one schedule.
    """
    with alike_twice():
        report = explore(program, expect=expect, trace=learners, max_schedules=LIMIT)
    if not report.complete and report.counterexample is None:
        raise LearnerError(TOO_MANY)
    return report


@contextmanager
def alike_twice() -> Iterator[None]:
    """Turn the explorer's complaint that two runs differ into words for the learner."""
    try:
        yield
    except NondeterministicProgramError as error:
        raise LearnerError(
            f"Run twice under one schedule, yours behaves differently: {error}."
        ) from (error)


def told(report: Report) -> str:
    """The schedule that breaks a program, and what it gives: ``"schedule “h” gives [1]"``."""
    failed = report.counterexample
    value = next(o for o, ways in report.outcomes.items() if failed in ways)
    raised = isinstance(value.value, Raised)
    return f"schedule “{failed}” {'raises' if raised else 'gives'} {value}"
