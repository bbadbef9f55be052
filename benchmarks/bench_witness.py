"""The race and its repairs on an OpenCL queue that nobody here wrote (PoCL on this processor).

How often does the device receive lengths of the next batch, if nothing is repaired, if the host
waits, and if it uploads a snapshot? And how many of the schedules that the explorer lists come out
the same when they are played on that queue? Without the extra ``opencl`` there are no rows.

    python -m benchmarks.bench_witness
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.row import Row, report
from pinlab.witness import MOMENTS, REPAIRS, OpenCLMissingError, free, gated, listed
from pinlab.witness.measurement import TURNS
from pinlab.witness.opencl import find_context, library

TRIES = 200


def rows() -> Iterator[Row]:
    """Rates of wrong tries; schedules that agree."""
    try:
        library()
        find_context()
    except OpenCLMissingError as error:
        print(f"no witness here: {error}")
        return
    yield from schedules()
    for repair in REPAIRS:
        for queue, turns in TURNS.items():
            yield rate(repair, queue, turns)


def schedules() -> Iterator[Row]:
    """For each repair, how many outcomes PoCL and the explorer share, of all that either shows."""
    for repair in REPAIRS:
        played = {tuple(gated(repair, moment)) for moment in range(MOMENTS)}
        possible = {tuple(lengths) for lengths in listed(repair).outcomes.values_seen()}
        name = f"outcomes on OpenCL and in the explorer's list, {repair}"
        unlike = len(played ^ possible)
        yield Row(f"{name}: both", len(played & possible), "outcomes", "exact")
        yield Row(f"{name}: in one alone", unlike, "outcomes", "exact", at_most=0)


def rate(repair: str, queue: str, turns: int) -> Row:
    """The share of wrong tries, with its interval; a repair has none."""
    tally = free(repair, TRIES, turns)
    name = f"wrong lengths on OpenCL, {repair}, {queue} queue"
    if repair != "alias":
        return Row(name, tally.wrong, f"of {TRIES} tries", "exact", at_most=0, note=interval(tally))
    # A broken demonstration must stay broken, and behind a kernel it is.
    least = 1 if turns else None
    note = interval(tally)
    return Row(name, tally.wrong, f"of {TRIES} tries", "reading", at_least=least, note=note)


def interval(tally: object) -> str:
    """The tally's own words, from its interval on."""
    return repr(tally).partition("wrong, ")[2]


if __name__ == "__main__":
    sys.exit(report(rows()))
