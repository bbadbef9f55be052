"""The visits that workers made, until the walk asks for them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from pinlab import sim
from pinlab.schedules.job import First
from pinlab.schedules.luggage import cannot_be_sent
from pinlab.schedules.rehearsal import ADVICE, NondeterministicProgramError
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome
from pinlab.schedules.visit import Visit, Visitor
from pinlab.schedules.worker import Answer, Made

COMPARED = 8  # new outcomes, made in this process as well; and then visits 16, 32, 64 …
SPAWN = 'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))'
NOT_SENT = (
    "Workers import its module afresh: what this process has changed since (global variables, "
    "buffers, warning filters) and the order of sets is not sent"
)


class _Parcel:
    """One distinct outcome of an answer; opened once."""

    def __init__(self, packed: bytes | None) -> None:
        self.packed = packed
        self.outcome: Outcome | None = None

    def open(self) -> Outcome | None:
        """The outcome, or None if it did not travel."""
        if self.outcome is None and self.packed is not None:
            try:
                key, value = pickle.loads(self.packed)
                self.outcome = Outcome(value, key)
            except Exception:
                pass  # a class that is known there only
            self.packed = None
        return self.outcome


class Arrivals:
    """See the module's text.

    Attributes:
        workers: (machine, process) of each that answered. made: different executions answered.
        twice: executions that two workers made. taken: visits that the walk got.
        values: of the outcomes that were compared.
    """

    def __init__(self, first: First, here: Visitor) -> None:
        self.first = first
        self.here = here
        self.workers: set[tuple[str, int]] = set()
        self.made = 0
        self.twice = 0
        self.taken = 0
        self.values: set[Outcome] = set()
        self.visits: dict[Schedule, tuple[Made, _Parcel] | None] = {}  # None: taken

    def has_had(self, schedule: Schedule) -> bool:
        """Whether its visit arrived, be it taken or not."""
        return schedule in self.visits

    def holds(self, schedule: Schedule) -> bool:
        """Whether its visit can be taken."""
        return self.visits.get(schedule) is not None

    def receive(self, answer: Answer, executor: Any) -> Iterator[tuple[Schedule, Made]]:
        """Unpack an answer; what it brings that is new.

        Raises:
            TypeError, SimError, UnsendableProgramError: if the worker could not even begin.
            NondeterministicProgramError: if the program is another one there.
        """
        if answer.refused is not None:
            raise _refusal(*answer.refused, executor)
        if answer.worker not in self.workers and answer.first is not None:
            difference = self.first.difference(answer.first)
            if difference:
                raise NondeterministicProgramError(
                    f"in another process the program differs: {difference}. It must not depend on "
                    f"what this process did before. {ADVICE}"
                )
        self.workers.add(answer.worker)
        parcels = [_Parcel(packed) for packed in answer.outcomes]
        for made in answer.made:
            schedule = Schedule(made.plan)
            if schedule in self.visits:
                self.twice += 1
                continue
            self.made += 1
            parcel = _Parcel(None) if made.outcome is None else parcels[made.outcome]
            self.visits[schedule] = made, parcel
            yield schedule, made

    def take(self, schedule: Schedule) -> Visit:
        """Hand a visit over; made again in this process where it could not travel.

        Raises:
            NondeterministicProgramError: if it failed there and does not fail here, or gave
                something else there.
        """
        held = self.visits[schedule]
        assert held is not None
        self.visits[schedule] = None
        self.taken += 1
        made, parcel = held
        outcome = parcel.open()
        if outcome is None:
            visit = self.here(schedule)  # raises what the serial search would raise here
            if made.failed and not made.failed.startswith("KeyboardInterrupt"):
                raise NondeterministicProgramError(
                    f"schedule {schedule} failed in another process and not in this one: "
                    f"{made.failed}. {ADVICE}"
                )
            parcel.outcome = visit.outcome
            return visit
        visit = Visit(outcome, made.alternatives, made.other_path)
        if self._is_compared(outcome):
            self._compare(schedule, visit, self.here(schedule))
        return visit

    def _is_compared(self, outcome: Outcome) -> bool:
        """The latest schedule may hide what differs there: a table filled after its import."""
        if len(self.values) < COMPARED and outcome not in self.values:
            self.values.add(outcome)
            return True
        return self.taken > COMPARED and self.taken.bit_count() == 1

    def _compare(self, schedule: Schedule, there: Visit, here: Visit) -> None:
        if there == here:
            return
        what = f"it gave {there.outcome} there and {here.outcome} here"
        if there.outcome == here.outcome:
            what = "it goes on in another way"
        raise NondeterministicProgramError(
            f"in another process the program differs under schedule {schedule}: {what}. "
            f"{NOT_SENT}. {ADVICE}"
        )


def _refusal(kind: str, text: str, executor: Any) -> Exception:
    if kind == "program":
        return cannot_be_sent(text)
    if kind == "start":
        return sim.SimError(f"a worker process could not begin: {text}")
    return TypeError(
        f"{executor!r} cannot share a search: {text}. A process has one device; use processes "
        f"that start afresh: {SPAWN}, or a Dask cluster of processes"
    )
