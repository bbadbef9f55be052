"""One schedule run for the search: what came out, and what else could have run where."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.schedules.execution import Execution, ScheduleError
from pinlab.schedules.history import Alternative
from pinlab.schedules.rehearsal import ADVICE, NondeterministicProgramError
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Plan, Schedule
from pinlab.schedules.values import Outcome


@dataclass(frozen=True)
class Visit:
    """What the search learns from one execution. It depends on the schedule alone.

    Attributes:
        outcome: the value.
        alternatives: where the search goes on from here, the last one first.
        other_path: it took another path through the program than the first execution, so the size
            of the full space, counted for that path, is not known.
    """

    outcome: Outcome
    alternatives: tuple[Alternative, ...]
    other_path: bool


class Visitor:
    """Runs schedules of one program, in this process.

    Args:
        runner: what runs the program; entered by the caller.
        full: every step that could have been made leads on, not only those that can matter.
        first: the execution under the latest schedule, whose path the others are compared with.
    """

    def __init__(self, runner: Runner, full: bool, first: Execution) -> None:
        self.runner = runner
        self.full = full
        self.trace = first.trace

    def __call__(self, schedule: Schedule) -> Visit:
        """Run one schedule.

        Raises:
            NondeterministicProgramError: if it does not fit, though an execution proposed it.
        """
        try:
            outcome, execution = self.runner.run(schedule, find=not self.full)
            execution.check_used()
        except ScheduleError as error:  # it fitted the run that it was found in
            raise NondeterministicProgramError(f"{error}. {ADVICE}") from error
        return self.seen(schedule.plan, outcome, execution)

    def seen(self, plan: Plan, outcome: Outcome, execution: Execution) -> Visit:
        """What is to be learnt from an execution that was made."""
        other_path = execution.trace != self.trace or execution.alternatives.surprised
        if self.full:
            last = plan[-1][0] if plan else (-1, 0)
            choices = [choice for choice in execution.history.choices() if choice[0] >= last]
            return Visit(outcome, tuple(reversed(choices)), other_path)
        found = sorted(execution.alternatives.found, reverse=True)
        return Visit(outcome, tuple(found), other_path)
