"""Many hands for one search: schedules handed out to an executor's workers, and what they found.

The walk over schedules stays in the process that called `explore` (`search.py`); it asks for one
visit after the other. The crew works ahead of it, in the order of the walk as far as that is known.
So the report is the serial one whoever is fast, slow or gone; all that varies is how much of what
was made ahead is ever asked for.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import replace
from typing import Any

from pinlab.schedules.arrivals import Arrivals
from pinlab.schedules.history import Alternative
from pinlab.schedules.job import First, Job
from pinlab.schedules.lost import LostWorkerError, lost
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.visit import Visit, Visitor
from pinlab.schedules.worker import Answer, Portion, conducted, work

SECONDS = 0.2  # of work in one portion
LARGEST = 500  # schedules in one portion
RETRIES = 1  # of a portion whose worker was lost, by executors that survive it
PATIENCE = 600.0  # seconds without any answer
LOOK = 1.0  # seconds; so often one looks for portions that were called off without notice

Key = list[tuple[Any, int]]


class Crew:
    """Gives the visits of schedules, made by an executor's workers.

    Args:
        executor: anything with the `submit` of `concurrent.futures.Executor`.
        job: the search. first: its first execution, as this process sees it.
        here: runs a schedule in this process, where a value or an exception cannot travel.
        limit: of executions that the walk will take.
    """

    def __init__(self, executor: Any, job: Job, first: First, here: Visitor, limit: int) -> None:
        self.executor = executor
        self.job = job
        self.limit = limit
        self.arrivals = Arrivals(first, here)
        self.known: set[Schedule] = set()
        self.ahead: list[tuple[Key, int, Schedule]] = []  # a heap: what the walk meets first
        self.given: set[Schedule] = set()
        self.out: dict[Future[Answer], tuple[Portion, int]] = {}
        self.waited_for = 0  # a number for each entry of the heap
        self.portions = 0  # handed out
        self.seconds_each = SECONDS

    def __enter__(self) -> Crew:
        conducted.add(self.job.name)
        return self

    def __exit__(self, *_: object) -> None:
        for future in self.out:
            future.cancel()  # what runs already, ends by itself soon
        conducted.discard(self.job.name)

    def __call__(self, schedule: Schedule) -> Visit:
        """The visit of a schedule, as soon as it is there.

        Raises:
            LostWorkerError: if the executor cannot get it done.
        """
        while not self.arrivals.holds(schedule):
            self._hand_out(schedule)
            self._collect()
        return self.arrivals.take(schedule)

    def expect(self, schedule: Schedule, alternatives: tuple[Alternative, ...]) -> None:
        """The walk will ask for what follows `schedule`."""
        for alternative in alternatives:
            following = schedule.with_steps(*alternative)
            if following not in self.known:
                self.known.add(following)
                self._wait_for(following)

    # -- handing out ------------------------------------------------------------------------------

    def _wait_for(self, schedule: Schedule) -> None:
        steps = [(position, stream) for position, streams in schedule.plan for stream in streams]
        self.waited_for += 1
        heapq.heappush(self.ahead, (steps, self.waited_for, schedule))

    def _hand_out(self, needed: Schedule) -> None:
        """Keep each worker that was heard of busy, and find out whether there are more."""
        hands = 2 * len(self.arrivals.workers) + 2
        while len(self.out) < hands:
            left = max(self.limit - self.arrivals.made - len(self.given), 0)
            width = len(self.ahead) + len(self.given)
            share = -(-width // hands)
            size = min(share, left, LARGEST, max(1, int(SECONDS / self.seconds_each)))
            batch = list(self._next(needed, size))
            if not batch:
                return
            narrow = width < 4 * hands  # others may soon need what this one finds
            plans = tuple(schedule.plan for schedule in batch)
            seconds = SECONDS / 8 if narrow else SECONDS
            self._submit(Portion(0, plans, seconds, max(left, 1)), 0)
            self.given.update(batch)

    def _next(self, needed: Schedule, size: int) -> Iterator[Schedule]:
        if needed not in self.given:
            yield needed
            size -= 1
        while size > 0 and self.ahead:
            schedule = heapq.heappop(self.ahead)[2]
            if schedule != needed and self._is_open(schedule):
                yield schedule
                size -= 1

    def _is_open(self, schedule: Schedule) -> bool:
        return schedule not in self.given and not self.arrivals.has_had(schedule)

    def _submit(self, portion: Portion, tries: int) -> None:
        self.portions += 1
        portion = replace(portion, number=self.portions)
        try:
            future = self.executor.submit(work, self.job, portion)
        except Exception as error:
            raise self._lost(portion, error) from error
        if not isinstance(future, Future):
            raise TypeError(
                f"{self.executor!r}.submit() gave {future!r}; it must give a "
                "concurrent.futures.Future"
            )
        self.out[future] = portion, tries

    # -- collecting -------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Wait for an answer, and take all that are there."""
        done = self._answered()
        if not done:
            portion = next(iter(self.out.values()))[0]
            raise self._lost(portion, TimeoutError(f"no answer for {PATIENCE:.0f} seconds"))
        for future in done:
            portion, tries = self.out.pop(future)
            try:
                answer = future.result()
            except (Exception, CancelledError) as error:
                if isinstance(error, BrokenExecutor) or tries >= RETRIES:
                    raise self._lost(portion, error) from error
                self._submit(portion, tries + 1)
            else:
                self._receive(portion, answer)

    def _answered(self) -> set[Future[Answer]]:
        """What is through; nothing after too long a time."""
        until = time.monotonic() + PATIENCE
        while True:
            left = max(until - time.monotonic(), 0.0)
            done, _ = wait(self.out, timeout=min(left, LOOK), return_when=FIRST_COMPLETED)
            # A pool that is shut down calls work off and does not tell those who wait for it.
            done = done or {future for future in self.out if future.cancelled()}
            if done or not left:
                return done

    def _receive(self, portion: Portion, answer: Answer) -> None:
        for schedule, made in self.arrivals.receive(answer, self.executor):
            self.expect(schedule, made.alternatives)
        for schedule in map(Schedule, portion.plans):
            self.given.discard(schedule)
            if not self.arrivals.has_had(schedule):
                self._wait_for(schedule)
        if answer.made:
            self.seconds_each = answer.seconds / len(answer.made) or self.seconds_each

    def _lost(self, portion: Portion, error: BaseException) -> LostWorkerError:
        plans = [Schedule(plan) for out, _ in self.out.values() for plan in out.plans]
        given = [*map(Schedule, portion.plans), *plans]
        return lost(error, self.arrivals.made, given)
