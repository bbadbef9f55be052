"""What importing pinlab adds to ``import torch``: seconds of processor time, and memory.

A fresh process imports one thing after the other and notes what each adds: torch, numpy and
matplotlib first, which are the lessons' own, so that what follows is pinlab's alone. Processor time
is taken, because waiting for a disk or another program says nothing about the package; the number
is the median of three processes. Bytecode has been compiled before, as after any first use.

    python -m benchmarks.bench_import
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_megabytes
from benchmarks.row import Row, report

ROOT = Path(__file__).resolve().parent.parent
BUDGET = 0.3  # seconds beyond torch, for `import pinlab` and for all that a lesson imports
PROCESSES = 3
OTHERS = ("torch", "numpy", "matplotlib.pyplot")
OURS = ("pinlab", "pinlab.sim", "pinlab.schedules", "pinlab.device", "pinlab.classroom")


def rows() -> Iterator[Row]:
    """Seconds of each import, the sum of ours, and the peak memory at the end."""
    first, *taken = [_child() for _ in range(PROCESSES + 1)]  # the first compiles
    del first

    def median(name: str) -> float:
        return statistics.median(one[name] for one in taken)

    for name in OTHERS:
        note = "came with torch" if name == "numpy" else "not ours"
        yield Row(f"import {name}", median(name), "s", kind="reading", note=note)
    total = 0.0
    for name in OURS:
        total += median(name)
        limit = BUDGET if name == "pinlab" else None
        note = "beyond what stands above"
        yield Row(f"import {name}", median(name), "s", kind="reading", at_most=limit, note=note)
    yield Row("all imports of pinlab", total, "s", kind="reading", at_most=BUDGET)
    yield Row("sim.install()", median("install"), "s", kind="reading")
    for when in ("torch alone", "with numpy and matplotlib", "with all of pinlab"):
        if all(one.get(when) is not None for one in taken):
            yield Row(f"memory, {when}", median(when), "MB", kind="reading", note="VmHWM")


def _child() -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.bench_import", "--child"]
    answer: dict[str, Any] = json.loads(subprocess.check_output(command, text=True, cwd=ROOT))
    return answer


def note_imports() -> dict[str, float | None]:
    """Import everything in order, here; seconds for each, and megabytes at three moments."""
    found: dict[str, float | None] = {}
    for name in (*OTHERS, *OURS):
        found[name] = _seconds(name)
        when = {"torch": "torch alone", OTHERS[-1]: "with numpy and matplotlib"}.get(name)
        if when is not None:
            found[when] = peak_megabytes("self")
    began = time.process_time()
    importlib.import_module("pinlab.sim").install()
    found["install"] = time.process_time() - began
    found["with all of pinlab"] = peak_megabytes("self")
    return found


def _seconds(name: str) -> float:
    began = time.process_time()
    importlib.import_module(name)
    return time.process_time() - began


if __name__ == "__main__":
    if "--child" in sys.argv:
        print(json.dumps(note_imports()))
        sys.exit(0)
    sys.exit(report(rows()))
