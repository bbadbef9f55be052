"""How often do free-running reranks differ, and how long does one take?

A try is `run_rerank` with five runs on a device that runs by itself, at the default settings; it
counts if the five rank orders are not all the same. Exit status 1 if the aliasing batch differs in
less than 9 of 10 tries, or the repaired one differs at all.

    python benchmarks/bench_rerank.py [--tries 20] [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from pinlab import sim
from pinlab.serving import AliasingBatch, InputBatch, Rate, run_rerank


def measure(batch_cls: type[InputBatch], tries: int, runs: int) -> tuple[Rate, float]:
    """The rate of differing tries, and the median of a try's seconds."""
    differed = 0
    seconds = []
    for _ in range(tries):
        began = time.perf_counter()
        result = run_rerank(batch_cls, "sim", runs)
        seconds.append(time.perf_counter() - began)
        differed += result.distinct_orders > 1
    return Rate(differed, tries), statistics.median(seconds)


def main() -> int:
    """Measure both batches and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()

    sim.install()
    run_rerank(runs=1)  # shapes are inferred once, at the first run
    results = {}
    for batch_cls in (AliasingBatch, InputBatch):
        rate, seconds = measure(batch_cls, arguments.tries, arguments.runs)
        results[batch_cls] = rate
        print(f"{batch_cls.__name__:<14} orders differ within {arguments.runs} runs: {rate}")
        print(f"{'':<14} {seconds:.2f} s for {arguments.runs} runs of 104 requests (median)")
    return int(results[AliasingBatch].value < 0.9 or results[InputBatch].hits > 0)


if __name__ == "__main__":
    sys.exit(main())
