"""A program stopped in the middle: run it up to a position, look, and give up the rest.

There is no live thread to hold: each stop is a fresh run of the same prefix. So "undo" is a shorter
prefix, and two looks at one prefix see the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

from pinlab.schedules.execution import Execution
from pinlab.schedules.queued import Queued
from pinlab.schedules.report import Report
from pinlab.schedules.run import Runner, make_runner
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.steps import Step
from pinlab.schedules.values import Outcome
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place, place_of

Seen = TypeVar("Seen")


class _GiveUpError(BaseException):
    """Unwinds the program once the look is taken. No `except Exception` of its own catches it."""


class Waiting:
    """One operation that has not run to its end.

    Attributes:
        operation: the queued `Operation`: its name, kind, bytes, `queued_at`.
        number: which one, in order of submission over all streams, from 0.
        stream: its stream's number.
        done, pieces: parts that ran, and all parts (1 unless copies are torn).
        blocked: why its stream cannot make a step now; None if it is the next step of its stream.
    """

    def __init__(self, queued: Queued, blocked: str | None) -> None:
        self.operation: Operation = queued.operation
        self.number = queued.number
        self.stream = queued.stream
        self.done, self.pieces = queued.done, queued.pieces
        self.blocked = blocked

    def __repr__(self) -> str:
        part = f", {self.done} of {self.pieces} parts done" if self.pieces > 1 else ""
        state = "next" if self.blocked is None else f"waits: {self.blocked}"
        return f"<{self.operation.name} on stream {self.stream}{part}, {state}>"


class Stop:
    """Where a run of a prefix stands.

    Attributes:
        position: (host lines passed, moments within the line).
        frame: the innermost traced frame, about to run (or go on with) its line; its locals are
            live. None when the program has returned and its value is about to be read, or is over.
        outcome: of a program that is over: its value, `Raised` or `Blocked`; None before.
        steps: host and device steps made so far, in order.
        waiting: operations that have not run to their end, in order of submission.
        schedule: the schedule that led here.
    """

    def __init__(
        self, execution: Execution, frame: FrameType | None, outcome: Outcome | None
    ) -> None:
        self.execution = execution
        self.position: Position = execution.position
        self.frame = frame
        self.outcome = outcome
        self.steps: list[Step] = list(execution.log or ())
        self.schedule: Schedule = execution.schedule
        over = outcome is not None
        pending = () if over else sorted(execution.history.pending(), key=lambda q: q.number)
        self.waiting = [Waiting(queued, _why(execution, queued)) for queued in pending]

    @property
    def place(self) -> Place | None:
        """The host line that comes next (`place.source` is its text), None at the end."""
        return None if self.frame is None else place_of(self.frame)

    @property
    def can_step(self) -> list[int]:
        """The streams that can make a device step now."""
        return [waiting.stream for waiting in self.waiting if waiting.blocked is None]

    def with_step(self, stream: int) -> Schedule:
        """The schedule that makes one more device step here."""
        here = dict(self.schedule.plan).get(self.position, ())
        return self.schedule.with_steps(self.position, (*here, stream))

    def __repr__(self) -> str:
        where = self.place or ("over" if self.outcome is not None else "returned")
        return f"<stop at {where}, position {self.position}, {len(self.waiting)} waiting>"


def _why(execution: Execution, queued: Queued) -> str | None:
    """Why `queued` cannot make its next step now, in words; None if it can."""
    head = execution.history.head(queued.stream)
    if head is not queued:
        return f"{head.operation.name} comes first on stream {queued.stream}"
    return execution.why_not(queued.stream) or None


class Prefix:
    """A program that can be run up to any position, as often as you like.

    Takes what `explore` takes: `program`, `pieces`, `granularity`, `trace`.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> device = pick_device()
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> prefix = Prefix(program)
    >>> prefix.at("h2", (2, 0), lambda stop: (stop.frame.f_locals["row"].tolist(), stop.waiting))
    ([5, 7], [<upload on stream 0, next>])
    >>> prefix.after("h2", (2, 0), lambda stop: stop.frame.f_locals["row"].tolist())
    [5, 40]
    >>> prefix.end("h2.d1", lambda stop: (stop.outcome, str(stop.steps[2])))
    ([5, 7], 'stream 0  upload (queued at <doctest ...Prefix[3]>:3)')
    """

    def __init__(
        self,
        program: Callable[[], Any],
        *,
        pieces: int = 1,
        granularity: str = "line",
        trace: Iterable[Any] = (),
    ) -> None:
        self.runner: Runner = make_runner(program, sys._getframe(1), trace, pieces, granularity)

    @classmethod
    def of(cls, report: Report) -> Prefix:
        """The program of a report, with the same pieces and granularity."""
        prefix = cls.__new__(cls)
        prefix.runner = report.runner
        return prefix

    def at(
        self, schedule: Schedule | str, position: Position, look: Callable[[Stop], Seen]
    ) -> Seen:
        """What `look` returns at `position`, after the schedule's device steps there.

        If the program ends earlier, `look` is called at its end (`stop.outcome` is not None).
        """
        return self._run(schedule, look, lambda here, opened: here >= position)

    def after(
        self, schedule: Schedule | str, position: Position, look: Callable[[Stop], Seen]
    ) -> Seen:
        """What `look` returns at the next position after `position` at which the device may move.

        ``after(schedule, (-1, 0), look)`` stops before the first line.
        """
        return self._run(schedule, look, lambda here, opened: opened and here > position)

    def end(self, schedule: Schedule | str, look: Callable[[Stop], Seen]) -> Seen:
        """What `look` returns when the program is over: all steps, and the outcome."""
        return self._run(schedule, look, lambda here, opened: False)

    def _run(
        self,
        schedule: Schedule | str,
        look: Callable[[Stop], Seen],
        is_there: Callable[[Position, bool], bool],
    ) -> Seen:
        plan = schedule if isinstance(schedule, Schedule) else Schedule.parse(schedule)
        seen: list[Seen] = []
        failed: list[Exception] = []

        def on_position(execution: Execution, frame: FrameType | None) -> None:
            opened = execution.history.moments[-1].opened
            if is_there(execution.position, opened):
                execution.on_position = None
                try:
                    seen.append(look(Stop(execution, frame, None)))
                except Exception as error:  # the program must not take it for its own
                    failed.append(error)
                raise _GiveUpError

        with self.runner:
            try:
                outcome, execution = self.runner.run(plan, False, on_position, log=True)
            except _GiveUpError:
                pass
            if not seen and not failed:
                execution.check_used()
                return look(Stop(execution, None, outcome))
        if failed:
            raise failed[0]
        return seen[0]
