"""What exploring costs: executions per second, against running the program without exploring.

The program has three uploads, twenty host lines and buffers of 512 bytes. "Plain" runs it as often
in lazy mode, with the same reset of the device before each run. Both are timed in turn, in CPU
time of this process, and the ratio is that of the medians. Then exact counts: how many schedules
the search runs, of how many, for how many outcomes.

    python -m benchmarks.bench_explore
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["PINLAB_PROGRESS"] = "0"

import torch

from benchmarks.row import Row, report
from pinlab import sim
from pinlab.schedules import explore
from tests.schedules.sent_programs import ring

LIMIT = 2.0  # times the cost of not exploring
ROUNDS = 15
ITEMS = 64  # int64, 512 bytes
RINGS = ((8, 1, 1), (9, 2, 1), (9, 3, 1), (4, 1, 2))  # batches, buffers, pieces of a copy


def uploads() -> Any:
    """Three uploads, each rewritten afterwards; twenty host lines."""
    a = torch.zeros(ITEMS, dtype=torch.int64, pin_memory=True)
    b = torch.zeros(ITEMS, dtype=torch.int64, pin_memory=True)
    c = torch.zeros(ITEMS, dtype=torch.int64, pin_memory=True)
    x = a.to("sim", non_blocking=True)
    y = b.to("sim", non_blocking=True)
    z = c.to("sim", non_blocking=True)
    a[0] = 1
    b[0] = 2
    c[0] = 3
    a[1] = 4
    b[1] = 5
    c[1] = 6
    a[2] = 7
    b[2] = 8
    c[2] = 9
    a[3] = 1
    b[3] = 2
    c[3] = 3
    there = torch.stack([x, y, z])
    return there.tolist()


def plain(runs: int) -> None:
    """Run the program so often without exploring."""
    with sim.mode("lazy"):
        for _ in range(runs):
            sim.reset()
            uploads()


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def times() -> Iterator[Row]:
    """Exploring against not exploring."""
    runs = explore(uploads).explored + 3  # two rehearsals and the reference
    plain(runs)
    explored, without = [], []
    for _ in range(ROUNDS):
        explored.append(seconds(lambda: explore(uploads)) / runs)
        without.append(seconds(lambda: plain(runs)) / runs)
    with_it, without_it = statistics.median(explored), statistics.median(without)
    yield Row("exploring, 3 uploads", with_it / without_it, "times plain runs", at_most=LIMIT)
    yield Row("exploring, 3 uploads", 1 / with_it, "executions per CPU second", "reading")
    yield Row("not exploring, 3 uploads", 1 / without_it, "runs per CPU second", "reading")


def counts(name: str, program: Callable[[], Any], pieces: int = 1) -> Iterator[Row]:
    """Executions against the full space, and against the outcomes."""
    found = explore(program, pieces=pieces)
    assert found.complete
    assert found.total is not None
    note = f"of {found.total:,} schedules"
    yield Row(f"search, {name}", found.explored, "executions", "exact", note=note)
    each = found.explored / len(found.outcomes)
    yield Row(f"search, {name}", each, "executions an outcome", "exact", at_most=1)


def rows() -> Iterator[Row]:
    """All measurements."""
    sim.install()
    torch.set_num_threads(1)
    yield from times()
    yield from counts("3 uploads", uploads)
    for batches, buffers, pieces in RINGS:
        torn = f", copies in {pieces}" if pieces > 1 else ""
        name = f"ring of {buffers}, {batches} batches{torn}"
        yield from counts(name, partial(ring, batches, buffers, pieces), pieces)


if __name__ == "__main__":
    sys.exit(report(rows()))
