"""``python -m pinlab run script.py``: a script that knows nothing of pinlab, on the device."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pinlab.detect.script import Script, advice, exit_status, print_error

if TYPE_CHECKING:
    from pinlab.detect.hazards import Hazard

USAGE = 2
VARIABLE = "PINLAB_HAZARDS"
CHOICES = {"": "off", "0": "off", "off": "off", "1": "lines", "lines": "lines", "rough": "rough"}


def main(arguments: Sequence[str]) -> int:
    """The script's exit status; 1 if it is 0 and hazards were found."""
    parser = _parser()
    try:
        asked = parser.parse_args(arguments)
        script = Script(asked.script, asked.arguments)
        watch = asked.watch or _from_environment()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except (OSError, ValueError) as error:
        print(f"pinlab run: {error}", file=sys.stderr)
        return USAGE
    from pinlab.device import pick_device

    try:
        pick_device()
    except (RuntimeError, ValueError) as error:
        print(f"pinlab run: {error}", file=sys.stderr)
        return USAGE
    found: list[Hazard] = []
    with _watched(watch, found):
        status = _run(script)
    if watch != "off":
        _print_findings(found)
    return status or int(bool(found))


def _run(script: Script) -> int:
    try:
        script.run()
    except SystemExit as stop:
        return exit_status(stop)
    except KeyboardInterrupt as error:
        print_error(error)
        return 130
    except BaseException as error:
        print_error(error)
        if hint := advice(error):
            print(hint, file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _watched(watch: str, found: list[Hazard]) -> Iterator[None]:
    if watch == "off":
        yield
        return
    from pinlab.detect.hazards import hazards

    with hazards(lines=watch == "lines") as findings:
        yield
    found += findings


def _print_findings(found: list[Hazard]) -> None:
    """Each pair of lines once, with how often it was met: a script may run a line for hours."""
    sys.stdout.flush()
    groups: dict[object, list[Hazard]] = {}
    for hazard in found:
        lines = hazard.kind, str(hazard.queued_at), str(hazard.written_at)
        groups.setdefault(lines, []).append(hazard)
    count = f"{len(groups)} hazard{'s' * (len(groups) > 1)}" if groups else "no hazards"
    print(f"pinlab: {count}", file=sys.stderr)
    for first, *more in groups.values():
        print(first, file=sys.stderr)
        if more:
            print(f"  and {len(more)} time{'s' * (len(more) > 1)} more", file=sys.stderr)


def _from_environment() -> str:
    asked = os.environ.get(VARIABLE, "")
    choice = CHOICES.get(asked.strip().lower())
    if choice is None:
        raise ValueError(f"{VARIABLE}={asked!r}; it can be 0, 1 (exact lines) or rough")
    return choice


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pinlab run",
        usage="python -m pinlab run [--hazards | --rough] script.py [arguments …]",
        description="Run a script on the simulated device, which torch then takes for its "
        "accelerator: torch.accelerator.current_accelerator() is 'sim'.",
        epilog=f"{VARIABLE}=1 is the same as --hazards, {VARIABLE}=rough as --rough. The "
        "findings are printed on standard error at the end; the exit status is the script's own, "
        "or 1 if that is 0 and there are findings.",
    )
    parser.add_argument(
        "--hazards", dest="watch", action="store_const", const="lines", help="watch with hazards()"
    )
    parser.add_argument(
        "--rough",
        dest="watch",
        action="store_const",
        const="rough",
        help="watch, but do not follow single lines: faster, and numpy writes are found between "
        "two lines",
    )
    parser.add_argument("script", metavar="script.py")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the script")
    rest.required = False  # else the message about a missing script asks for them too
    return parser
