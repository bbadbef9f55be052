"""What it costs to launch ``h + 1`` on the device, against the same line without pinlab.

Each measurement is a process of its own, taken in turn; the ratio is the median over the rounds.
"Launch only": the stream is held, or lazy, so nothing of the work itself runs meanwhile. The third
line lets the worker thread run at the same time; both then share Python's lock.

    python benchmarks/bench_launch.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

LIMIT = 12.0  # times the plain line, for a launch on a held stream
LAUNCHES = 200  # in one repeat
REPEATS = 25
# The launching thread's own time, where the clock is fine enough: other programs do not count.
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter


def per_launch(line: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds for one call of `line`, over one repeat."""
    began = clock()
    for _ in range(LAUNCHES):
        line()
    return (clock() - began) / LAUNCHES


def plain() -> list[float]:
    """``h + 1`` on the CPU, in a process that knows nothing of pinlab."""
    import torch

    torch.set_num_threads(1)
    h = torch.ones(8)
    return [per_launch(lambda: h + 1, CLOCK) for _ in range(REPEATS)]


def held() -> list[float]:
    """On the device, its stream held."""
    import torch

    from pinlab import sim

    sim.install()
    h, found = torch.ones(8, device="sim"), []
    for _ in range(REPEATS):
        with sim.hold():
            found.append(per_launch(lambda: h + 1, CLOCK))
        torch.get_device_module("sim").synchronize()
    return found


def lazy() -> list[float]:
    """On the device, in lazy mode."""
    return _free("lazy", CLOCK)


def threaded() -> list[float]:
    """On the device, the worker running at the same time; in elapsed time."""
    return _free("threaded", time.perf_counter)


def _free(mode: str, clock: Callable[[], float]) -> list[float]:
    import torch

    from pinlab import sim

    sim.install()
    h, found = torch.ones(8, device="sim"), []
    with sim.mode(mode):
        for _ in range(REPEATS):
            found.append(per_launch(lambda: h + 1, clock))
            torch.get_device_module("sim").synchronize()
    return found


KINDS = {"plain": plain, "held": held, "lazy": lazy, "threaded": threaded}


def measure(kind: str) -> float:
    """Median seconds per launch, measured in a fresh process."""
    command = [sys.executable, __file__, "--kind", kind]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.kind:
        print(statistics.median(KINDS[asked.kind]()))
        return 0
    rounds = [{kind: measure(kind) for kind in KINDS} for _ in range(asked.rounds)]
    ratios = {}
    for kind in ("held", "lazy", "threaded"):
        ratios[kind] = statistics.median(each[kind] / each["plain"] for each in rounds)
        cost = statistics.median(each[kind] for each in rounds)
        base = statistics.median(each["plain"] for each in rounds)
        clock = "elapsed time" if kind == "threaded" or not FINE else "time of the thread"
        print(
            f"h + 1, {kind:8}: {cost * 1e6:6.1f} µs a launch, plain {base * 1e6:5.2f} µs, "
            f"ratio {ratios[kind]:5.1f} ({clock})"
        )
    good = ratios["held"] <= LIMIT
    print(f"limit for a launch on a held stream: {LIMIT:g} times: {'kept' if good else 'EXCEEDED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
