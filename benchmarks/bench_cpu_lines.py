"""What `install()` costs ordinary CPU lines: each line without pinlab and after `install()`.

Processes of both kinds take turns; a line's cost is the smallest repeat of all rounds. Operators
must stay within 5 %. Factory functions are wrapped, so that they understand ``pin_memory=True``
(`pinlab.sim.factories`); what the wrapper costs is a constant, shown in nanoseconds.

    python benchmarks/bench_cpu_lines.py [--rounds 6]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LIMIT = 1.05
CALLS = 300  # in one repeat
REPEATS = 60
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter  # other programs do not count


def lines() -> dict[str, dict[str, Callable[[], object]]]:
    """The lines, by kind."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    a, b, m = torch.ones(8), torch.ones(8), torch.ones(16, 16)
    big, array = torch.ones(4096), np.ones(8, dtype=np.float32)
    operators: dict[str, Callable[[], object]] = {
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
    factories: dict[str, Callable[[], object]] = {
        "torch.zeros(8)": lambda: torch.zeros(8),
        "torch.empty(8)": lambda: torch.empty(8),
        "torch.tensor([1, 2])": lambda: torch.tensor([1, 2]),
        "torch.zeros_like(a)": lambda: torch.zeros_like(a),
        "torch.zeros(4096)": lambda: torch.zeros(4096),
    }
    return {"operator": operators, "factory": factories}


def costs() -> dict[str, list[float]]:
    """Seconds a call of every line, in this process: the smallest of the repeats."""
    found: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for group in lines_here.values():
            for name, line in group.items():
                began = CLOCK()
                for _ in range(CALLS):
                    line()
                found.setdefault(name, []).append((CLOCK() - began) / CALLS)
    return found


lines_here: dict[str, dict[str, Callable[[], object]]] = {}


def measure(installed: bool) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--child", "after" if installed else "before"]
    answer: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--child", choices=("before", "after"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child == "after":
        from pinlab import sim

        sim.install()
    lines_here.update(lines())
    if asked.child:
        print(json.dumps({name: min(repeats) for name, repeats in costs().items()}))
        return 0
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for _ in range(asked.rounds):
        for best, installed in ((before, False), (after, True)):
            for name, cost in measure(installed).items():
                best[name] = min(cost, best.get(name, cost))
    worst = 0.0
    for kind, group in lines_here.items():
        for name in group:
            ratio, more = after[name] / before[name], (after[name] - before[name]) * 1e9
            worst = max(worst, ratio) if kind == "operator" else worst
            print(
                f"{kind:8} {name:20} {before[name] * 1e6:7.3f} µs before, "
                f"{after[name] * 1e6:7.3f} µs after, ratio {ratio:5.3f}, {more:+6.0f} ns"
            )
    good = worst <= LIMIT
    print(f"limit for operators: ratio {LIMIT}: {'kept' if good else 'EXCEEDED'} ({worst:.3f})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
