"""How long does the lint take over 2,000 files, against parsing them alone?

The files are copied from the installed packages (torch's own first, because it is the package
that speaks of pinning), so that the mixture is that of real code. Each measurement is the best of
the repeats; the parse is `ast.parse` of each file's bytes, in one process.

    python benchmarks/bench_lint.py [--files 2000] [--jobs 2] [--repeats 3] [--root FOLDER]

Exit status 1 if the lint takes longer than --limit seconds (10).
"""

from __future__ import annotations

import argparse
import ast
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from pinlab.detect.lint import Level, Options, lint_paths


def sample(root: Path, count: int) -> list[str]:
    """`count` files below `root`, torch's first."""
    files = sorted(root.rglob("*.py"), key=lambda path: ("/torch/" not in str(path), str(path)))
    return [str(path) for path in files[:count]]


def parse_all(files: list[str]) -> None:
    """What no checker can do without."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in files:
            try:
                ast.parse(Path(path).read_bytes())
            except (SyntaxError, ValueError):
                continue


def best(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The shortest wall time and the shortest processor time of this process, in seconds."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--root", type=Path, default=Path(sysconfig.get_path("purelib")))
    asked = parser.parse_args()

    files = sample(asked.root, asked.files)
    lines = sum(Path(path).read_bytes().count(b"\n") for path in files)
    parse_wall, parse_cpu = best(lambda: parse_all(files), asked.repeats)
    print(f"{len(files)} files, {lines} lines")
    print(f"ast.parse alone, one process: {parse_wall:.2f} s ({parse_cpu:.2f} s of processor)")
    slowest = 0.0
    for level in (Level.WARNING, Level.NOTE):
        options = Options(level=level)
        single_wall, single_cpu = best(lambda o=options: lint_paths(files, o, jobs=1), 1)
        wall, _ = best(lambda o=options: lint_paths(files, o, jobs=asked.jobs), asked.repeats)
        if level is Level.WARNING:
            slowest = wall
        print(
            f"lint --level {level}: {wall:.2f} s with {asked.jobs} processes; alone "
            f"{single_wall:.2f} s ({single_cpu:.2f} s of processor, "
            f"{single_cpu / parse_cpu:.1f} times the parse)"
        )
    return int(slowest > asked.limit)


if __name__ == "__main__":
    sys.exit(main())
