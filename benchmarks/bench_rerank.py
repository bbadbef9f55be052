"""How often do free-running reranks differ, and how long does one take?

A try is `run_rerank` with five runs on a device that runs by itself, at the default settings; it
counts if the five rank orders are not all the same. Exit status 1 if the aliasing batch differs in
less than 9 of 10 tries, or the repaired one differs at all.

    python -m benchmarks.bench_rerank
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator

import torch

from benchmarks.row import Row, report
from pinlab import sim
from pinlab.serving import AliasingBatch, InputBatch, Rate, run_rerank

TRIES, RUNS = 10, 5


def measure(batch_cls: type[InputBatch]) -> tuple[Rate, float]:
    """The rate of differing tries, and the median of a try's seconds."""
    differed = 0
    seconds = []
    for _ in range(TRIES):
        began = time.perf_counter()
        result = run_rerank(batch_cls, "sim", RUNS)
        seconds.append(time.perf_counter() - began)
        differed += result.distinct_orders > 1
    return Rate(differed, TRIES), statistics.median(seconds)


def rows() -> Iterator[Row]:
    """How often the orders differ, aliasing and repaired, and what a run takes."""
    sim.install()
    torch.set_num_threads(1)
    run_rerank(runs=1)  # shapes are inferred once, at the first run
    broken, seconds = measure(AliasingBatch)
    name = f"reranks of {RUNS} runs that differ"
    # A demonstration that is broken on purpose has to stay broken.
    least, note = 0.9 * TRIES, interval(broken)
    unit = f"of {TRIES}"
    yield Row(f"{name}, aliasing", broken.hits, unit, "reading", at_least=least, note=note)
    repaired, _ = measure(InputBatch)
    yield Row(f"{name}, clone", repaired.hits, unit, "exact", at_most=0, note=interval(repaired))
    yield Row("one run, 104 requests", seconds / RUNS * 1e3, "ms", "reading")


def interval(rate: Rate) -> str:
    """The share that these tries allow for."""
    low, high = rate.interval()
    return f"95 % interval of the share {low:.2f} to {high:.2f}"


if __name__ == "__main__":
    sys.exit(report(rows()))
