"""What exploring costs: executions per second, against running the program without exploring.

The program has three uploads, twenty host lines and buffers of 512 bytes. "Plain" runs it as often
in lazy mode, with the same reset of the device before each run. Both are timed in turn, in CPU
time of this process, and the ratio is that of the medians.

    python benchmarks/bench_explore.py
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["PINLAB_PROGRESS"] = "0"

import torch

from pinlab import sim
from pinlab.schedules import Report, explore

LIMIT = 2.5  # times the cost of not exploring
ROUNDS = 15
ITEMS = 64  # int64, 512 bytes


def program() -> Any:
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
            program()


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Print the table; 1 if the limit is exceeded."""
    sim.install()
    torch.set_num_threads(1)
    report: Report = explore(program)
    runs = report.explored + 3  # two rehearsals and the reference
    plain(runs)
    explored, without = [], []
    for _ in range(ROUNDS):
        explored.append(seconds(lambda: explore(program)) / runs)
        without.append(seconds(lambda: plain(runs)) / runs)
    ratio = statistics.median(explored) / statistics.median(without)
    print(f"schedules        {report.explored:,} run of {report.total:,}")
    print(f"outcomes         {len(report.outcomes)}")
    print(f"exploring        {1 / statistics.median(explored):,.0f} executions per CPU second")
    print(f"not exploring    {1 / statistics.median(without):,.0f} executions per CPU second")
    print(f"ratio            {ratio:.2f} (limit {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
