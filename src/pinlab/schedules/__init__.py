"""Every interleaving of host lines and device work: `explore` a program, `replay` one schedule.

`grid` asks for each operation and line what would come out; `Prefix` stops a program in the middle.
"""

from __future__ import annotations

from pinlab.schedules.execution import ScheduleError
from pinlab.schedules.explore import explore, replay
from pinlab.schedules.grid import Grid, grid
from pinlab.schedules.lost import LostWorkerError
from pinlab.schedules.luggage import UnsendableProgramError
from pinlab.schedules.prefix import Prefix, Stop
from pinlab.schedules.rehearsal import NondeterministicProgramError
from pinlab.schedules.report import Report
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.steps import Step
from pinlab.schedules.values import Blocked, Outcome, Raised

__all__ = [
    "Blocked",
    "Grid",
    "LostWorkerError",
    "NondeterministicProgramError",
    "Outcome",
    "Prefix",
    "Raised",
    "Report",
    "Schedule",
    "ScheduleError",
    "Step",
    "Stop",
    "UnsendableProgramError",
    "explore",
    "grid",
    "replay",
]
