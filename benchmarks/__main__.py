"""All measurements in one table.

    python -m benchmarks [--only NAME …] [--rows] [--strict] [--write]

Each script runs in a process of its own, one after the other. The table has the value, its limit,
the committed value and the change. Exit status 1 if a script fails or a limit is exceeded. A ratio
that is worse by over 20 % than the committed one, and an exact count that changed, are reported,
and are an error with ``--strict`` only: committed values are those of one machine. The run is left
in build/bench/results.json; ``--write`` makes it the committed one and writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.collect import Measured, chosen, collect, scripts
from benchmarks.machine import in_words
from benchmarks.record import COMMITTED, RESULTS, ROOT, Record, joined, load, record_of
from benchmarks.table import status, summary, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep."""
    asked = _parser().parse_args(arguments)
    try:
        names = chosen(asked.only, scripts())
        committed = load(COMMITTED)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    found = collect(names, _progress, loud=asked.rows)
    record = record_of(found)
    print(in_words(record.machine))
    print(", ".join(f"{name} {version}" for name, version in record.versions.items()))
    if committed and committed.machine != record.machine:
        print(f"committed values are from another machine: {in_words(committed.machine)}")
    print(*table(found, committed), "", *summary(found, committed), sep="\n")
    try:
        record.save(RESULTS)
    except OSError as error:
        print(f"not kept: {error}", file=sys.stderr)
        return 1
    print(f"kept in {RESULTS.relative_to(ROOT)}")
    if asked.write and not _write(committed, record):
        return 1
    return status(found, committed, asked.strict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=_first_line())
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these scripts")
    parser.add_argument("--rows", action="store_true", help="show each row as it comes")
    parser.add_argument("--strict", action="store_true", help="what moved is an error as well")
    parser.add_argument("--write", action="store_true", help="commit to these values")
    return parser


def _first_line() -> str:
    return (__doc__ or "").splitlines()[0]


def _progress(each: Measured) -> None:
    print(repr(each), file=sys.stderr, flush=True)


def _write(committed: Record | None, record: Record) -> bool:
    """Make the record the committed one, with its page; False if it may not be."""
    from benchmarks.page import write  # draws, so it imports matplotlib

    try:
        whole = joined(committed, record)
    except ValueError as error:
        print(f"nothing written: {error}", file=sys.stderr)
        return False
    whole.save(COMMITTED)
    for path in write(whole):
        print(f"written: {path.relative_to(ROOT)}")
    return True


if __name__ == "__main__":
    sys.exit(main())
