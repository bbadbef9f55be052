"""Fixtures for ordinary test suites: `explore_schedules` and `no_hazards`.

``assert explore_schedules(program, expect=…).correct`` runs a program under every schedule that can
matter. A test that asks for ``no_hazards`` fails if the host touches what a pending copy uses.

pytest loads this file in every run where pinlab is installed, so it imports nothing heavy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pinlab.detect.hazards import Findings
    from pinlab.schedules import Report


class ExploreSchedules:
    """`pinlab.schedules.explore`, remembering its reports for the test's failure message."""

    unset: Any = object()

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def __call__(
        self,
        program: Callable[[], Any],
        *,
        expect: Any = unset,
        pieces: int = 1,
        granularity: str = "line",
        trace: Iterable[Any] = (),
        full: bool = False,
        max_schedules: int = 20_000,
        executor: Any = None,
    ) -> Report:
        """Explore `program`; the arguments are those of `pinlab.schedules.explore`."""
        from pinlab.schedules.explore import UNSET, search
        from pinlab.schedules.run import make_runner

        runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)
        wanted = UNSET if expect is self.unset else expect
        report = search(runner, wanted, full, max_schedules, executor)
        self.reports.append(report)
        return report

    def failures(self) -> str:
        """The certificates of what was not certified, each with the token that shows it."""
        return "\n\n".join(_explain(report) for report in self.reports if not _is_fine(report))


def _is_fine(report: Report) -> bool:
    return report.correct if report.expected else report.deterministic


def _explain(report: Report) -> str:
    worst = report.counterexample
    if worst is None:
        return report.certificate()
    return f"{report.certificate()}\nTo see it again: {report.replay_call(worst)}"


@pytest.fixture
def explore_schedules() -> ExploreSchedules:
    """Run a program under every schedule that can matter; see `pinlab.schedules.explore`."""
    return ExploreSchedules()


@pytest.fixture
def no_hazards() -> Generator[Findings, None, None]:
    """Watch the test with `pinlab.detect.hazards`; fail it at its end with what was found.

    The test may look at the list meanwhile, and may clear it.
    """
    from pinlab.detect.hazards import hazards

    with hazards(lines=True) as found:
        yield found
    if found:
        count = f"{len(found)} hazard{'s' * (len(found) > 1)}"
        pytest.fail(f"{count}\n{found}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Add the certificates to the report of a failed test."""
    report = yield
    used = getattr(item, "funcargs", {}).get("explore_schedules")
    if report.when == "call" and report.failed and isinstance(used, ExploreSchedules):
        text = used.failures()
        if text:
            report.sections.append(("schedules", text))
    return report
