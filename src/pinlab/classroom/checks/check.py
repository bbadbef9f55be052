"""A check of one exercise: it looks at what an answer *does*, never at how it is written.

    check_01_2 = Check("01.2", grade, hints=("Look at …", "Only one line …"))
    check_01_2(my_answer)     # prints a verdict; never raises on an unfilled stub
    check_01_2.hint()         # the next hint; hint(2) for the second

``grade`` takes the answer and returns a ``Verdict``. It calls a learner's function only through
``attempt``, so that an exception in there becomes a verdict that explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pinlab.classroom.checks.attempt import LearnerError, is_stub
from pinlab.classroom.checks.verdict import Verdict, not_answered, wrong
from pinlab.classroom.question import QUESTION_ID, in_lesson, is_open


class Check:
    """Grades one exercise.

    Attributes:
        id: lesson and number, ``"01.2"``.
        name: what a lesson calls, ``"check_01_2"``.
        hints: from a nudge to nearly the answer, two or more.
    """

    def __init__(self, id: str, grade: Callable[[Any], Verdict], hints: Sequence[str]) -> None:
        if not QUESTION_ID.fullmatch(id):
            raise ValueError(f"check id {id!r} is not of the form 'NN.M'")
        if len(hints) < 2:
            raise ValueError(f"check {id} has {len(hints)} hints, should be 2 or more")
        self.id, self.hints = id, tuple(hints)
        self.name = "check_" + id.replace(".", "_")
        self._grade = grade
        self._given = 0  # hints given so far

    def judge(self, answer: Any = ...) -> Verdict:
        """The verdict as an object; ``__call__`` prints it."""
        if is_open(answer) or is_stub(answer):
            return not_answered(f"{self.name}.hint() gives a first hint.")
        try:
            return self._grade(answer)
        except LearnerError as error:
            return wrong(str(error))

    def __call__(self, answer: Any = ...) -> None:
        print(f"{self.name}: {self.judge(answer)}")

    def hint(self, number: int | None = None) -> None:
        """Print the next hint, or hint ``number`` (from 1); the last one stays the last."""
        count = len(self.hints)
        if number is None:
            number = min(self._given + 1, count)
        if number not in range(1, count + 1):
            raise ValueError(f"{self.name} has hints 1 to {count}, not {number!r}")
        self._given = max(self._given, number)
        last = " (the last one; the solution lies in notebooks/solutions)" * (number == count)
        print(f"hint {number} of {count}{last}: {self.hints[number - 1]}")

    def __repr__(self) -> str:
        return f"<{self.name}: call it with your answer; {len(self.hints)} hints with .hint()>"


def find_check(check_id: str) -> Check:
    """The check ``"NN.M"``; LookupError lists the checks that the lesson has.

    >>> find_check("01.2")
    <check_01_2: call it with your answer; 3 hints with .hint()>
    """
    found: Check = in_lesson("checks", "CHECKS", check_id)
    return found
