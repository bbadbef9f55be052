"""Is the program a fair subject? Two runs under one schedule must not differ."""

from __future__ import annotations

import dis
import threading
from typing import Any

from pinlab.schedules.execution import Execution
from pinlab.schedules.run import Runner
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome
from pinlab.sim.place import Place

ADVICE = (
    "Seed random numbers, leave clocks out, and make the buffers that the program changes inside "
    "it: only pinned and device memory is put back between runs"
)


class NondeterministicProgramError(RuntimeError):
    """The program differs between two runs under one schedule, so nothing can be concluded."""


def rehearse(runner: Runner) -> tuple[Outcome, Execution]:
    """Run the program twice under the latest schedule and return the first run.

    Raises:
        NondeterministicProgramError: saying what differed, or which thread was left running.
    """
    threads = set(threading.enumerate())
    outcome, execution = runner.run(Schedule(), find=True)
    left = [thread.name for thread in threading.enumerate() if _goes_on(thread, threads)]
    if left:
        raise NondeterministicProgramError(
            f"the program left a thread running: {', '.join(left)}; join it before returning"
        )
    again, second = runner.run(Schedule())
    difference = _difference(execution.trace, second.trace)
    if not difference and outcome != again:
        difference = f"the first returned {outcome}, the second {again}"
    if difference:
        raise NondeterministicProgramError(
            f"two runs under one schedule differ: {difference}. {ADVICE}"
        )
    return outcome, execution


def _goes_on(thread: threading.Thread, known: set[threading.Thread]) -> bool:
    """Whether a new thread is alive and does not end by itself within half a second."""
    if thread in known or isinstance(thread, threading._DummyThread):
        return False
    thread.join(0.5)
    return thread.is_alive()


def _difference(one: list[Any], two: list[Any]) -> str:
    """The first entry in which two traces differ, in words; empty if none does."""
    line: Any = None
    for a, b in zip([*one, None], [*two, None], strict=False):
        if a != b:
            after = f"after {_words(line)} " if line else ""
            return f"{after}the first went on with {_words(a)}, the second with {_words(b)}"
        line = a
    return ""


def _words(entry: Any) -> str:
    """One entry of a trace: a line, a submission or a wait."""
    if entry is None:
        return "its return"
    head, *rest = entry
    if head == "queued":
        return f"{rest[1]} on stream {rest[0]}"
    if head == "wait":
        return "a wait for " + ", ".join(f"{n} steps of stream {s}" for s, n in rest)
    starts = [number for offset, number in dis.findlinestarts(head) if offset <= rest[0]]
    place = Place(head.co_filename, starts[-1] if starts else head.co_firstlineno)
    return f"{place} `{place.source}`" if place.source else str(place)
