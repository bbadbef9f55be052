"""The commands of ``python -m pinlab``, one line each.

A command's module is imported only when it is called: ``lint`` works where torch cannot be
imported, and starts in a tenth of a second.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Main = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Command:
    """`module` has a function ``main(arguments) -> exit status``."""

    module: str
    summary: str

    def load(self) -> Main:
        main: Main = importlib.import_module(self.module).main
        return main


COMMANDS = {
    "lint": Command("pinlab.detect.lint.command", "read source for races on pinned memory"),
    "run": Command("pinlab.detect.run_command", "run a script on the simulated device"),
    "fence": Command("pinlab.detect.fence.command", "run a script with its pinned pages protected"),
    "check": Command("pinlab.environment", "say whether this machine is ready for the lessons"),
    "quiz": Command("pinlab.classroom.quiz_command", "the quiz; answers stay in a file of yours"),
}


def usage() -> str:
    """The list of commands.

    >>> "python -m pinlab lint" in usage()
    True
    """
    lines = ["usage: python -m pinlab <command> [arguments]", ""]
    lines += [f"  python -m pinlab {name:<8} {c.summary}" for name, c in COMMANDS.items()]
    return "\n".join([*lines, "", "`python -m pinlab <command> --help` says more."])


def main(arguments: Sequence[str]) -> int:
    """Run a command; 2 if there is no such command."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]].load()(arguments[1:])
    if arguments and arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    if arguments:
        print(f"no command {arguments[0]!r}\n", file=sys.stderr)
    print(usage(), file=sys.stderr)
    return 2
