"""Check 07.3: how many clean runs it takes to call a failure absent."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong

RATES = (0.5, 0.2, 0.05, 0.01, 0.7)


def needed(rate: float) -> int:
    """The smallest n with (1 - rate) ** n at most 5 %, counted up.

    >>> [needed(rate) for rate in RATES]
    [5, 14, 59, 299, 3]
    """
    runs = 1
    while (1 - rate) ** runs > 0.05:
        runs += 1
    return runs


def grade_clean_runs(answer: Callable[[float], Any]) -> Verdict:
    given = [attempt(answer, rate) for rate in RATES]
    if all(one is None or one is ... for one in given):
        return not_answered("It returns nothing yet.")
    for rate, got in zip(RATES, given, strict=True):
        if not isinstance(got, numbers.Real):
            return wrong(f"For a rate of {rate} it returns {got!r}; a number of runs is wanted.")
        if got == needed(rate):
            continue
        return _miscounted(rate, float(got))
    return right(
        "A failure in one run of a hundred needs 299 clean runs before you may call it absent at "
        "95 %; five clean runs rule out nothing below 45 %."
    )


def _miscounted(rate: float, got: float) -> Verdict:
    if 0 < got < 1:
        return wrong(
            f"For a rate of {rate} it returns {got:g}, which is no number of runs. The bound above "
            "goes from runs to a rate; here a rate is given. Solve (1 - rate) ** n = 0.05 for n."
        )
    if not math.isfinite(got) or got < 1 or got != int(got):
        return wrong(
            f"For a rate of {rate} it returns {got:g}; a number of runs is whole and 1 or more: "
            "round up."
        )
    clean = (1 - rate) ** got
    if got in (round(1 / rate), math.ceil(1 / rate)):
        return wrong(
            f"{got:.0f} runs for a rate of {rate}: one failure is *expected* in that many, and yet "
            f"they are all clean with a chance of {100 * clean:.0f} %.",
            "M8",
            f"(1 - {rate}) ** {got:.0f}",
        )
    if got in (round(3 / rate), math.ceil(3 / rate)):
        return wrong(
            f"{got:.0f} runs for a rate of {rate} is the rule of three. It is close, and on the "
            f"safe side; {needed(rate)} are enough. Use the exact formula."
        )
    if clean > 0.05:
        return wrong(
            f"{got:.0f} runs are too few for a rate of {rate}: all clean with a chance of "
            f"{100 * clean:.1f} %, and 5 % is allowed. Round up."
        )
    return wrong(f"{got:.0f} runs for a rate of {rate} are enough, but {needed(rate)} are as well.")
