"""The levels of the scheduler game, in rising order; one file a level.

A level is added by adding its file and naming it here.
"""

from __future__ import annotations

from pinlab.classroom.levels import (
    condense,
    double_buffer,
    in_between,
    mirror,
    ring_of_one,
    staging,
    torn_copy,
    two_streams,
    which_value,
    wrong_place,
)
from pinlab.classroom.levels.level import Level

LEVELS: tuple[Level, ...] = (
    which_value.LEVEL,
    in_between.LEVEL,
    torn_copy.LEVEL,
    mirror.LEVEL,
    staging.LEVEL,
    wrong_place.LEVEL,
    ring_of_one.LEVEL,
    double_buffer.LEVEL,
    two_streams.LEVEL,
    condense.LEVEL,
)

__all__ = ["LEVELS", "Level", "find_level"]


def find_level(wanted: int | str) -> Level:
    """A level by number, from 1, or by id; LookupError lists them.

    >>> find_level(1) is find_level("which-value")
    True
    """
    for number, level in enumerate(LEVELS, 1):
        if wanted in (number, level.id):
            return level
    known = ", ".join(f"{number} {level.id}" for number, level in enumerate(LEVELS, 1))
    raise LookupError(f"no level {wanted!r}; there are {known}")
