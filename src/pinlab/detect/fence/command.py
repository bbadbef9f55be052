"""``python -m pinlab fence script.py``: a script behind protected pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pinlab.detect.script import Script, advice

USAGE = 2


def main(arguments: Sequence[str]) -> int:
    """1 if there are hazards, else the script's exit status; 2: it cannot be run."""
    try:
        asked = _parser().parse_args(arguments)
        script = Script(asked.script, asked.arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except OSError as error:
        print(f"pinlab fence: {error}", file=sys.stderr)
        return USAGE
    from pinlab.detect.fence.search import fence

    def program() -> None:
        try:
            script.run()
        except Exception as error:
            if hint := advice(error):
                print(hint, file=sys.stderr)
            raise

    try:
        report = fence(program, timeout=asked.timeout)
    except (NotImplementedError, RuntimeError, TimeoutError, ValueError) as error:
        print(f"pinlab fence: {error}", file=sys.stderr)
        return USAGE
    sys.stdout.write(report.out)
    sys.stdout.flush()
    sys.stderr.write(report.err)
    print(f"pinlab: {report}", file=sys.stderr)
    return 1 if report.hits else report.status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pinlab fence",
        usage="python -m pinlab fence [--timeout SECONDS] script.py [arguments …]",
        description="Run a script on the simulated device with its pinned memory protected while "
        "a queued operation uses it. It is started again after each line that touched a "
        "protected page; what the last run prints is shown at the end. Linux only.",
        epilog="Exit status: 1 hazards, 2 it could not be run, else the script's own.",
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each run (60)")
    parser.add_argument("script", metavar="script.py")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the script")
    rest.required = False  # else the message about a missing script asks for them too
    return parser
