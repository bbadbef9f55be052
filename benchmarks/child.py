"""Runs one script for `benchmarks.collect`: its rows go to a file as they come, a line each.

python -m benchmarks.child benchmarks.bench_launch FILE
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict

from benchmarks.row import Row


def main(name: str, out: str) -> int:
    """Write a line for each row, one for the script's series, if it has any, and one at its end."""
    module = importlib.import_module(name)
    if not hasattr(module, "rows"):
        print(f"{name} has no function rows()", file=sys.stderr)
        return 1
    with open(out, "w", encoding="utf-8") as file:
        for row in module.rows():
            if not isinstance(row, Row):
                print(f"rows() gave {row!r}, which is no Row", file=sys.stderr)
                return 1
            print(json.dumps({"row": asdict(row)}), file=file, flush=True)
            print(row, flush=True)
        if hasattr(module, "series"):
            print(json.dumps({"series": module.series()}), file=file, flush=True)
        print(json.dumps({"ended": True}), file=file, flush=True)  # it did not leave on its way
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
