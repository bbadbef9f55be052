"""How long does the lint take over 2,000 files, against parsing them alone?

The files are those of the installed packages (torch's own first, because it is the package that
speaks of pinning), so that the mixture is that of real code; every tenth of them is measured.
The parse is `ast.parse` of each file's bytes, in the same process, before the lint and after it.

    python -m benchmarks.bench_lint
"""

from __future__ import annotations

import ast
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.row import Row, report
from pinlab.detect.lint import Level, Options, lint_paths

FILES, EVERY, JOBS = 2000, 10, 2
LIMITS = {Level.WARNING: 3.0}  # times the parse
SECONDS = 10.0  # for all files, with both processes, on two free cores


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


def cpu(call: Callable[[], object]) -> float:
    """Processor time of a call, in this process."""
    began = time.process_time()
    call()
    return time.process_time() - began


def rows() -> Iterator[Row]:
    """The parse alone, the lint at both levels beside it, and the lint with two processes."""
    files = sample(Path(sysconfig.get_path("purelib")), FILES)[::EVERY]
    levels = {level: Options(level=level) for level in (Level.WARNING, Level.NOTE)}
    parse_all(files[:10])  # what both import
    lint_paths(files[:1], levels[Level.NOTE], jobs=1)
    parse = [cpu(lambda: parse_all(files))]
    lint = {
        level: cpu(lambda o=options: lint_paths(files, o, jobs=1))
        for level, options in levels.items()
    }
    parse.append(cpu(lambda: parse_all(files)))
    base = sum(parse) / len(parse)
    yield Row("files", len(files), "files", "reading", note=f"every {EVERY}th of {FILES:,}")
    yield Row("ast.parse alone", len(files) / base, "files a CPU second", "reading")
    for level in levels:
        ratio, speed = lint[level] / base, len(files) / lint[level]
        name = f"lint --level {level}"
        yield Row(name, ratio, "times ast.parse", at_most=LIMITS.get(level))
        yield Row(f"{name}: speed", speed, "files a CPU second", "reading")
    began = time.perf_counter()
    lint_paths(files, levels[Level.WARNING], jobs=JOBS)
    speed = len(files) / (time.perf_counter() - began)
    name = f"lint --level {Level.WARNING}, {JOBS} processes"
    yield Row(
        name, speed, "files a second", "reading", note="elapsed time, so of a busy machine too"
    )
    free = FILES / JOBS * lint[Level.WARNING] / len(files)
    note = "computed from processor time"
    yield Row(
        f"{FILES:,} files on {JOBS} free cores", free, "s", "reading", at_most=SECONDS, note=note
    )


if __name__ == "__main__":
    sys.exit(report(rows()))
