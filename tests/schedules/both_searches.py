"""A program under the reduced and the full search, which must agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinlab.schedules import Outcome, explore, replay


def outcomes(program: Callable[[], Any], **options: Any) -> list[Any]:
    """The outcomes of a program: the same in both searches, each replayed from a token."""
    report = explore(program, **options)
    full = explore(program, full=True, **options)
    assert report.complete
    assert full.complete
    assert set(report.outcomes) == set(full.outcomes)
    for outcome, schedules in report.outcomes.items():
        assert Outcome(replay(program, str(schedules[0]), **options)) == outcome
    return sorted(report.outcomes, key=repr)
