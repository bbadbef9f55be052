"""How long the whole series takes to validate: every lesson and solution, on two workers.

Elapsed time of one run of pytest, its start and collection included. On a machine with other work
it takes longer; the load before the run is noted beside it.

    python -m benchmarks.bench_series
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row, report

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 90.0  # seconds, on two free cores
COMMAND = "-m pytest -q --no-header -n 2 --dist loadfile notebooks".split()
CLOSING = re.compile(r"(\d+) passed")


def rows() -> Iterator[Row]:
    """The time, and how many cells were compared.

    Raises `RuntimeError` if a cell failed: then the time is that of something else.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *COMMAND], cwd=ROOT, capture_output=True, text=True, check=False
    )
    spent = time.perf_counter() - began
    passed = CLOSING.search(done.stdout)
    if done.returncode or passed is None:
        raise RuntimeError(f"the series does not pass: {(done.stdout + done.stderr)[-300:]!r}")
    note = f"load before: {load:.1f} of {os.cpu_count()} cores"
    yield Row("the series, two workers", spent, "s", "reading", at_most=LIMIT, note=note)
    yield Row("cells compared", int(passed[1]), "cells", "reading")


if __name__ == "__main__":
    sys.exit(report(rows()))
