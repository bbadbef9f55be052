"""Predictions, checks with hints, the beliefs that wrong answers betray, and the scheduler game.

The checks of a lesson are attributes of this module, found by name: ``check_01_2`` is the second
check of lesson 01 and lives in ``checks/lesson_01.py``. A lesson is added by adding that file, and
``questions/lesson_NN.py`` for its predictions.
"""

from __future__ import annotations

import re

from pinlab.classroom.beliefs import BELIEFS, Belief
from pinlab.classroom.checks import Check, find_check
from pinlab.classroom.game import SchedulerGame
from pinlab.classroom.game_goal import Goal
from pinlab.classroom.lanes import show_lanes
from pinlab.classroom.levels import LEVELS, Level
from pinlab.classroom.predict import predict, reveal

__all__ = [
    "BELIEFS",
    "LEVELS",
    "Belief",
    "Check",
    "Goal",
    "Level",
    "SchedulerGame",
    "predict",
    "reveal",
    "show_lanes",
]

CHECK_NAME = re.compile(r"check_(\d\d)_(\d+)")


def __getattr__(name: str) -> Check:
    """``check_NN_M``, from the file of lesson NN."""
    match = CHECK_NAME.fullmatch(name)
    if match is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return find_check(f"{match[1]}.{match[2]}")
    except LookupError as unknown:
        raise AttributeError(str(unknown)) from None
