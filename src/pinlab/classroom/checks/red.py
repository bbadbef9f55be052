"""Is a learner's test red?"""

from __future__ import annotations

from typing import Any

from pinlab.classroom.checks.attempt import LearnerError, attempt


def is_red(test: Any, subject: Any) -> bool:
    """Whether the test fails on an assertion; LearnerError if anything else is raised."""
    try:
        attempt(test, subject)
    except LearnerError as error:
        if isinstance(error.__cause__, AssertionError):
            return True
        raise
    return False


def raises(test: Any, subject: Any) -> bool:
    """As pytest judges: red, whatever was raised."""
    try:
        attempt(test, subject)
    except LearnerError:
        return True
    return False
