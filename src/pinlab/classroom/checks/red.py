"""Is a learner's test red?"""

from __future__ import annotations

from typing import Any

from pinlab.classroom.checks.attempt import LearnerError, attempt


def is_red(test: Any, subject: Any) -> bool:
    """Whether the test fails on an assertion; LearnerError for any other exception, and for a
    test that returns its verdict.
    """
    try:
        returned = attempt(test, subject)
    except LearnerError as error:
        if isinstance(error.__cause__, AssertionError):
            return True
        raise
    if returned is not None and returned is not ...:
        raise LearnerError(
            f"Your test returns {type(returned).__name__}, and nobody looks at what a test "
            "returns. It is red if it raises: use assert."
        )
    return False


def raises(test: Any, subject: Any) -> bool:
    """As pytest judges: red, whatever was raised."""
    try:
        attempt(test, subject)
    except LearnerError:
        return True
    return False
