"""What `install()` costs ordinary CPU lines: each line without pinlab and after `install()`.

Processes of both kinds take turns; a line's cost is the smallest repeat of all rounds. Operators
must stay within 5 %. Factory functions are wrapped, so that they understand ``pin_memory=True``
(`pinlab.sim.factories`); what the wrapper costs is a constant, shown in nanoseconds.

    python -m benchmarks.bench_cpu_lines
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.row import Row, report

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.05
ROUNDS = 4
CALLS = 200  # in one repeat
REPEATS = 60
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter  # other programs do not count

Lines = dict[str, Callable[[], object]]


def lines() -> tuple[Lines, Lines]:
    """The operators, and the factory functions."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    a, b, m = torch.ones(8), torch.ones(8), torch.ones(16, 16)
    big, array = torch.ones(4096), np.ones(8, dtype=np.float32)
    operators: Lines = {
        "a + 1": lambda: a + 1,
        "a.sum()": a.sum,
        "m @ m": lambda: m @ m,
        "a.copy_(b)": lambda: a.copy_(b),
        "a.clone()": a.clone,
        "a[2:5]": lambda: a[2:5],
        "a.tolist()": a.tolist,
        "a.numpy()": a.numpy,
        "from_numpy(array)": lambda: torch.from_numpy(array),
        "big.exp()": big.exp,
        "a.to(torch.float64)": lambda: a.to(torch.float64),
    }
    factories: Lines = {
        "torch.zeros(8)": lambda: torch.zeros(8),
        "torch.empty(8)": lambda: torch.empty(8),
        "torch.tensor([1, 2])": lambda: torch.tensor([1, 2]),
        "torch.zeros_like(a)": lambda: torch.zeros_like(a),
        "torch.zeros(4096)": lambda: torch.zeros(4096),
    }
    return operators, factories


def costs() -> dict[str, float]:
    """Seconds a call of every line, in this process: the smallest of the repeats.

    Each repeat has tensors of its own: where they lie in memory can make a tenth of difference.
    """
    found: dict[str, float] = {}
    groups = [lines() for _ in range(REPEATS)]
    for operators, factories in groups:
        for name, line in (operators | factories).items():
            began = CLOCK()
            for _ in range(CALLS):
                line()
            took = (CLOCK() - began) / CALLS
            found[name] = min(took, found.get(name, took))
    return found


def measure(when: str) -> dict[str, float]:
    """The same in a fresh process, ``"before"`` or ``"after"`` `install()`."""
    command = [sys.executable, "-m", "benchmarks.bench_cpu_lines", "--child", when]
    answer: dict[str, float] = json.loads(subprocess.check_output(command, text=True, cwd=ROOT))
    return answer


def rows() -> Iterator[Row]:
    """A ratio for every operator; for every factory function what its wrapper adds."""
    best: dict[str, dict[str, float]] = {"before": {}, "after": {}}
    for _ in range(ROUNDS):
        for when, quickest in best.items():
            for name, cost in measure(when).items():
                quickest[name] = min(cost, quickest.get(name, cost))
    before, after = best["before"], best["after"]
    operators, factories = lines()
    for name in operators:
        note = f"{before[name] * 1e6:.2f} µs before"
        ratio = after[name] / before[name]
        yield Row(f"{name} after install()", ratio, "times before", at_most=LIMIT, note=note)
    for name in factories:
        more = (after[name] - before[name]) * 1e9
        note = f"on {before[name] * 1e6:.2f} µs"
        yield Row(f"{name} after install()", more, "ns more", kind="reading", note=note)


def child(when: str) -> None:
    """Print this process's costs."""
    if when == "after":
        from pinlab import sim

        sim.install()
    print(json.dumps(costs()))


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(sys.argv[-1])
        sys.exit(0)
    sys.exit(report(rows()))
