"""Every interleaving of host lines and device work: `explore` a program, `replay` one schedule."""

from __future__ import annotations

from pinlab.schedules.execution import ScheduleError
from pinlab.schedules.explore import NondeterministicProgramError, explore, replay
from pinlab.schedules.report import Report
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Blocked, Outcome, Raised

__all__ = [
    "Blocked",
    "NondeterministicProgramError",
    "Outcome",
    "Raised",
    "Report",
    "Schedule",
    "ScheduleError",
    "explore",
    "replay",
]
