"""Check 07.4: a test with which git bisect finds the commit that pinned the rows."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from pinlab import sim
from pinlab.classroom.checks.red import is_red
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.classroom.history import Commit, GitMissingError, History
from pinlab.device import pick_device

FIRST_VIEW, FIRST_PINNED = 4, 8


@functools.cache
def _history() -> History:
    """One repository for all calls of the check, which changes nothing in it."""
    return History()


def grade_bisect_test(test: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    try:
        history = _history()
    except GitMissingError as error:
        return not_answered(str(error))
    verdicts: dict[int, bool] = {}
    for number in (1, FIRST_VIEW, FIRST_PINNED - 1, FIRST_PINNED, len(history)):
        with sim.mode("eager"):
            early = is_red(test, history[number])
        with sim.mode("lazy"):
            late = is_red(test, history[number])
        if early != late:
            return wrong(
                f"On commit {number} it is green if the device is early and red if it is late. "
                "The day decides, and git believes it.",
                "M8",
                f"with sim.mode('eager'): {getattr(test, '__name__', 'test')}(history[{number}])",
            )
        verdicts[number] = early
    misfit = _misfit(verdicts) or _by_its_name(test, history)
    if misfit is not None:
        return misfit

    def green(commit: Commit) -> None:
        assert not is_red(test, commit)

    found = history.bisect(green)
    if found.first_bad.number != FIRST_PINNED:
        return wrong(f"git names another commit with it:\n{found}")
    return right(f"{found}\n  The commit that pinned the rows, on whatever day you ask.")


def _by_its_name(test: Any, history: History) -> Verdict | None:
    """Whether the test goes by what is written on a commit: two of them, each as another one."""
    for number, worn in ((FIRST_PINNED, 2), (2, FIRST_PINNED)):
        other = history[worn]
        disguised = replace(history[number], number=worn, subject=other.subject)
        with sim.mode("lazy"):
            red = is_red(test, disguised)
        if red != (number >= FIRST_PINNED):
            return wrong(
                f"It goes by what a commit is called: the code of commit {number} under the number "
                f"and subject of commit {worn} is {'red' if red else 'green'}. In a history that "
                "you do not know yet this finds nothing. Ask step(commit) what arrives."
            )
    return None


def _misfit(red: dict[int, bool]) -> Verdict | None:
    if red[1]:
        return wrong("It is red on commit 1, which is right, so git would have nothing to search.")
    if red[FIRST_VIEW]:
        return wrong(
            f"It is red from commit {FIRST_VIEW} on: the view is there, but its rows are pageable "
            "and the upload takes the bytes at once. No length arrives wrong before the rows are "
            "pinned. Ask for what arrives, not for what moves.",
            "M5",
        )
    if not red[FIRST_PINNED]:
        return wrong(
            f"It is green on commit {FIRST_PINNED}, under which [4, 8] can arrive. Choose the "
            "schedule so that the device is late, or go through all of them.",
            "M3",
        )
    return None
