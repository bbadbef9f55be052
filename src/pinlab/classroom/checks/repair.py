"""A repair of a case: does it do the same work, and is it right in every schedule?"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pinlab import sim
from pinlab.casebook import Case
from pinlab.classroom.checks.all_schedules import LIMIT, TOO_MANY, alike_twice
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.device import pick_device
from pinlab.schedules import Report

DOTS = "A line of dots still stands where a line of yours belongs, and {found}."
COPIES = ("upload", "download")


@dataclass(frozen=True)
class Work:
    """What a program asked of the device in one run.

    Attributes:
        counts: how many uploads, downloads, kernels.
        waits: how often the host waited, or asked until the answer was yes.
        edges: by stream (0 is the main one), how often it was made to wait for an event.
        aside: operations on other streams than the main one.
    """

    counts: Counter[str]
    waits: int
    edges: Counter[int]
    aside: int

    @classmethod
    def of(cls, case: Case, form: Callable[..., Any]) -> Work:
        """Of one run in which the device is late."""
        with sim.mode("lazy"), sim.record() as run:
            _attempted(case, form)
        streams = Counter(min(mark.stream.index, 1) for mark in run.marks if mark.kind == "wait")
        return cls(
            Counter(operation.kind for operation in run.operations),
            sum(event.kind in ("wait", "query") for event in run.host),
            streams,
            sum(operation.stream.index > 0 for operation in run.operations),
        )


Explain = Callable[[Work, Work], tuple[str, str | None]]  # of mine and broken: words, belief
Praise = Callable[[Work, Work], str]


def grade_repair(case: Case, mine: Any, explain: Explain, praise: Praise) -> Verdict:
    """Judge a function of a device, a repair of `case`.

    Args:
        explain: what to say of a repair that is wrong in some schedule, and which belief is behind.
        praise: what to add to one that is right.
    """
    if is_stub(mine):
        return not_answered()
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    misfit = _misfit(case, mine, explain)
    if misfit is not None:
        return misfit
    with alike_twice():
        report = case.explore(mine, max_schedules=LIMIT)
    work, broken = Work.of(case, mine), Work.of(case, case.broken)
    if report.correct:
        return right(f"{_proved(report)} {praise(work, broken)}".rstrip())
    if report.counterexample is None:
        return wrong(TOO_MANY)
    if dots_left(mine):
        return not_answered(DOTS.format(found=found(report)))
    words, belief = explain(work, broken)
    see = f'case("{case.id}").replay("{report.counterexample}", {mine.__name__})'
    return wrong(f"{words} {found(report).capitalize()}.", belief, see)


def found(report: Report) -> str:
    """``"0 instead of 8 comes out under h10.d1.s1d1"``; the report has a counterexample."""
    outcome = next(value for value in report.outcomes if value != report.reference)
    return f"{outcome} instead of {report.reference} comes out under {report.outcomes[outcome][0]}"


def _written_down(function: Any) -> bool:
    """Whether every pair that the function returns begins with a literal."""
    pairs = [
        node.value.elts[0]
        for node in ast.walk(_tree(function))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and node.value.elts
    ]
    return bool(pairs) and all(_literal(first) for first in pairs)


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _tree(function: Any) -> ast.AST:
    """The function's text as a tree; an empty one if there is no text."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def dots_left(function: Any) -> bool:
    """Whether a line of the function is nothing but dots.

    >>> def half_done(device):
    ...     x = 1
    ...     ...
    >>> dots_left(half_done)
    True
    """
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
        for node in ast.walk(_tree(function))
    )


def _misfit(case: Case, mine: Any, explain: Explain) -> Verdict | None:
    """What is wrong before any schedule is chosen: its form, its value, its work."""
    with sim.mode("eager"):
        pair = _attempted(case, mine)
    if not isinstance(pair, tuple) or len(pair) != 2:
        return wrong("Return two values as the broken form does: (observed, expected).")
    if pair[1] != case.expected:
        return wrong(f"The second value is {pair[1]}; leave it at {case.expected}.")
    work, broken = Work.of(case, mine), Work.of(case, case.broken)
    if pair[0] != case.expected:
        if not broken.counts:
            words = f"It returns {pair[0]} instead of {case.expected}; no device is needed."
            return wrong(words, explain(work, broken)[1])
        return wrong(f"Even if the device does everything at once, it returns {pair[0]}.")
    for kind in COPIES:
        if work.counts[kind] < broken.counts[kind]:
            return wrong(
                f"The broken form makes {broken.counts[kind]} {kind}"
                f"{'s' * (broken.counts[kind] != 1)}, yours {work.counts[kind]}. "
                "A repair does the same work."
            )
    if _written_down(mine):
        return wrong(
            "The first value is written down, not observed. Return what the device or the host "
            "really saw, as the broken form does."
        )
    return None


def _proved(report: Report) -> str:
    total = "" if report.total is None else f" of {report.total:,}"
    return f"Every schedule gives {report.reference} ({report.explored}{total} had to be run)."


def _attempted(case: Case, form: Any) -> Any:
    """Run a form under the case's rules; an exception names the learner's line."""
    with sim.platform(case.platform):
        return attempt(form, pick_device())
