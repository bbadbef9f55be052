"""Two reports that must be one and the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinlab.schedules import Report, explore


def facts(report: Report) -> dict[str, Any]:
    """Everything that a report says."""
    return {
        "outcomes": [(str(value), list(map(str, ways))) for value, ways in report.outcomes.items()],
        "keys": [value.key for value in report.outcomes],
        "explored": report.explored,
        "total": report.total,
        "complete": report.complete,
        "deterministic": report.deterministic,
        "correct": report.correct,
        "interrupted": report.interrupted,
        "counterexample": str(report.counterexample),
        "reference": report.reference.key,
        "certificate": report.certificate(),
        "page": report._repr_html_(),
    }


def agree(program: Callable[[], Any], executor: Any, **options: Any) -> Report:
    """The serial report of a program, after the executor's was found to be the same."""
    serial = explore(program, **options)
    assert facts(explore(program, executor=executor, **options)) == facts(serial)
    return serial
