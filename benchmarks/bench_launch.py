"""What it costs to launch an operator on the device, against the same line without pinlab.

The tensors are those of one small decoding step, sixteen rows of 64 float32: the operator itself
takes a few microseconds on the CPU, so the launch is what counts. The budget of 8 holds for eight
lines that such a step is made of: arithmetic with a number, a product with weights, a reduction,
softmax, the choice of a token, an update in place, rows picked by a tensor in two ways.

Five more lines do not keep it, and have limits of their own, a fifth above what they reach. Their
CPU side is one of torch's cheapest calls (under 2 µs, or under 3 with a change of dtype), and what
torch alone spends before and after it has called a Python backend is 4 to 6 times that already.

"Stream held": nothing of the work itself runs meanwhile. The time is the launching thread's own,
where the clock is fine enough, and of all repeats in a process the quickest: what else runs on the
machine only adds. Processes of both kinds take turns; a ratio is the median over the rounds.

    python -m benchmarks.bench_launch
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.row import Row, report

ROOT = Path(__file__).resolve().parent.parent
BUDGET = 8.0  # times the plain line
UPLOAD = "d.copy_(p, non_blocking=True), p pinned"
BEYOND = {  # not kept by these; measured 8.5, 8.2, 10.4, 8.6 and 14.5
    "h * g": 10.5,
    "h[2:6]": 10.0,
    "torch.cat([h, g])": 12.5,
    "h.to(torch.float16)": 10.5,
    UPLOAD: 17.5,
}
ROUNDS = 3
LAUNCHES = 100  # in one repeat
REPEATS = 25
# The launching thread's own time, where the clock is fine enough: other programs do not count.
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter

Line = Callable[[], object]


def lines(device: str) -> dict[str, Line]:
    """The lines to launch, on tensors of `device`."""
    import torch

    h, g = torch.ones(16, 64, device=device), torch.ones(16, 64, device=device)
    w = torch.ones(64, 64, device=device)
    rows = torch.tensor([3, 1, 4, 1], device=device)
    d = torch.empty(16, 64, device=device)
    p = torch.ones(16, 64)
    if device == "sim":
        p = p.pin_memory()
    return {
        "h + 1": lambda: h + 1,
        "h @ w": lambda: h @ w,
        "h.sum(-1)": lambda: h.sum(-1),
        "h.softmax(-1)": lambda: h.softmax(-1),
        "h.argmax(-1)": lambda: h.argmax(-1),
        "h.add_(1)": lambda: h.add_(1),
        "h.index_select(0, rows)": lambda: h.index_select(0, rows),
        "h[rows]": lambda: h[rows],
        "h * g": lambda: h * g,
        "h[2:6]": lambda: h[2:6],
        "torch.cat([h, g])": lambda: torch.cat([h, g]),
        "h.to(torch.float16)": lambda: h.to(torch.float16),
        UPLOAD: lambda: d.copy_(p, non_blocking=True),
    }


def plain() -> dict[str, float]:
    """Seconds for one call of each line on the CPU, in a process that knows nothing of pinlab."""
    import torch

    torch.set_num_threads(1)
    return _quickest(lines("cpu"), contextlib.nullcontext, lambda: None)


def held() -> dict[str, float]:
    """The same on the device, its stream held."""
    import torch

    from pinlab import sim

    torch.set_num_threads(1)
    sim.install()
    synchronize = torch.get_device_module("sim").synchronize
    here = lines("sim")
    found = _quickest(here, sim.hold, synchronize)
    first = {"h + 1": here["h + 1"]}
    with sim.mode("lazy"):
        found["lazy"] = _quickest(first, contextlib.nullcontext, synchronize)["h + 1"]
    found["threaded"] = _quickest(first, contextlib.nullcontext, synchronize, time.perf_counter)[
        "h + 1"
    ]
    return found


def _quickest(
    here: dict[str, Line], around: Callable[[], Any], after: Line, clock: Any = CLOCK
) -> dict[str, float]:
    found: dict[str, float] = {}
    for _ in range(REPEATS):
        for name, line in here.items():
            line()  # what only the first call does
            with around():
                began = clock()
                for _ in range(LAUNCHES):
                    line()
                took = (clock() - began) / LAUNCHES
            after()
            found[name] = min(took, found.get(name, took))
    return found


def measure(kind: str) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.bench_launch", "--child", kind]
    answer: dict[str, float] = json.loads(subprocess.check_output(command, text=True, cwd=ROOT))
    return answer


def rows() -> Iterator[Row]:
    """A ratio for each line, and what one launch of ``h + 1`` takes in the other two modes."""
    rounds = [(measure("plain"), measure("held")) for _ in range(ROUNDS)]
    for name in rounds[0][0]:
        ratio = statistics.median(there[name] / here[name] for here, there in rounds)
        base = statistics.median(here[name] for here, _ in rounds) * 1e6
        limit = BEYOND.get(name, BUDGET)
        note = f"plain {base:.2f} µs" + (", beyond the budget of 8" if name in BEYOND else "")
        yield Row(f"launch of {name}", ratio, "times plain", at_most=limit, note=note)
    for mode, clock in (("lazy", "time of the thread"), ("threaded", "elapsed")):
        took = statistics.median(there[mode] for _, there in rounds) * 1e6
        yield Row(f"launch of h + 1, {mode}", took, "µs", kind="reading", note=clock)


if __name__ == "__main__":
    if "--child" in sys.argv:
        print(json.dumps({"plain": plain, "held": held}[sys.argv[-1]]()))
        sys.exit(0)
    sys.exit(report(rows()))
