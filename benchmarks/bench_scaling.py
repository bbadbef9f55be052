"""How the cost of a search grows: with host lines, operations, pieces of a copy, and workers.

The program queues some uploads, and rewrites their sources in the lines that follow. Each series
varies one thing. The ring of one buffer is the worst case: each line conflicts with all that is
pending, and each execution has an outcome of its own. Counts are exact, so they are the same on
every machine; seconds are not, and on two shared cores a second worker is worth less than it could
be.

    python -m benchmarks.bench_scaling
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["PINLAB_PROGRESS"] = "0"

import torch

from benchmarks.bench_explore import ring
from benchmarks.row import Row, report
from pinlab import sim
from pinlab.schedules import Report, explore

Point = tuple[float, float]

LINES = (2, 4, 8, 16, 32)  # with two uploads
OPERATIONS = (1, 2, 3, 4, 5)  # with six writes
PIECES = (1, 2, 3, 4, 6)  # with two uploads and six writes
BATCHES = (2, 3, 4, 5, 6)  # of a ring of one buffer
SHARED = partial(ring, 7, 1, 1)  # 429 executions: what the workers share


def uploads(operations: int, writes: int, pieces: int) -> Any:
    """Queue `operations` uploads, then write so often, one source after the other."""
    rows = [torch.zeros(writes, dtype=torch.int64, pin_memory=True) for _ in range(operations)]
    there = [row.to("sim", non_blocking=True) for row in rows]
    for n in range(writes):
        rows[n % operations][n * pieces // writes] = n + 1
    return [row.tolist() for row in there]


class Cost:
    """One search, and the CPU seconds that it took."""

    def __init__(self, program: Callable[[], Any], pieces: int = 1) -> None:
        start = time.process_time()
        self.report: Report = explore(program, pieces=pieces)
        self.seconds = time.process_time() - start
        assert self.report.complete
        assert self.report.total is not None


@cache
def costs() -> dict[str, list[tuple[int, Cost]]]:
    """The searches, by what varies."""
    sim.install()
    torch.set_num_threads(1)
    explore(partial(uploads, 1, 2, 1))  # what is paid once
    return {
        "lines": [(n, Cost(partial(uploads, 2, n, 1))) for n in LINES],
        "operations": [(n, Cost(partial(uploads, n, 6, 1))) for n in OPERATIONS],
        "pieces": [(n, Cost(partial(uploads, 2, 6, n), n)) for n in PIECES],
        "batches": [(n, Cost(partial(ring, n, 1, 1))) for n in BATCHES],
    }


@dataclass(frozen=True)
class Shared:
    """A search by so many workers; 0 is the serial search.

    `passed` is in seconds, `here` in CPU seconds of the process that calls `explore`.
    """

    workers: int
    report: Report
    passed: float
    here: float

    @classmethod
    def by(cls, workers: int, executor: Any) -> Shared:
        """Run it."""
        passed, here = time.perf_counter(), time.process_time()
        result = explore(SHARED, executor=executor)
        return cls(workers, result, time.perf_counter() - passed, time.process_time() - here)


@cache
def shared() -> list[Shared]:
    """The same search by nobody else, by one worker, and by two."""
    sim.install()
    torch.set_num_threads(1)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "pinlab.schedules"])
    found = [Shared.by(0, None)]
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, mp_context=context) as executor:
            explore(partial(uploads, 2, 8, 1), executor=executor)  # until all have started
            found.append(Shared.by(workers, executor))
    return found


def series() -> dict[str, list[Point]]:
    """Name → points, for a page that plots them.

    ``executions by …`` and ``schedules by …`` (the full space), ``seconds by …`` in CPU time of one
    process, and ``executions a second by workers``, elapsed, where 0 workers is the serial search.
    """
    points: dict[str, list[Point]] = {}
    for what, varied in costs().items():
        points[f"executions by {what}"] = [(n, cost.report.explored) for n, cost in varied]
        points[f"schedules by {what}"] = [(n, cost.report.total or 0) for n, cost in varied]
        points[f"seconds by {what}"] = [(n, cost.seconds) for n, cost in varied]
    points["executions a second by workers"] = [
        (one.workers, one.report.explored / one.passed) for one in shared()
    ]
    return points


def rows() -> Iterator[Row]:
    """All measurements."""
    for what, varied in costs().items():
        for n, cost in varied:
            note = f"of {cost.report.total:,} schedules, {cost.seconds:.2f} CPU seconds"
            yield Row(f"search, {n} {what}", cost.report.explored, "executions", "exact", note=note)
    serial = shared()[0]
    for one in shared():
        who = "search by " + ("no executor", "one process", "two processes")[one.workers]
        speed = one.report.explored / one.passed
        yield Row(who, speed, "executions a second", "reading", note="elapsed")
        if one.workers:
            same = float(str(one.report) == str(serial.report))
            yield Row(who, same, "of the reports the same", "exact", at_least=1)
            share, note = one.here / serial.here, "CPU time of the process that conducts"
            yield Row(who, share, "of the serial search", "reading", note=note)


if __name__ == "__main__":
    sys.exit(report(rows()))
