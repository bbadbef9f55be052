"""``python -m pinlab lint PATH…``: arguments in, findings out, an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pinlab.detect.lint.check import Options
from pinlab.detect.lint.finding import Level
from pinlab.detect.lint.formats import FORMATS
from pinlab.detect.lint.rulebook import RULES
from pinlab.detect.lint.runner import lint_paths

CLEAN, FOUND, USAGE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """0: nothing at or above the level; 1: findings; 2: the command line is wrong."""
    parser = _parser()
    try:
        asked = parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    if asked.rules:
        print(_rule_list())
        return CLEAN
    try:
        options = _options(asked)
        findings = lint_paths(asked.paths, options, asked.jobs)
    except (ValueError, FileNotFoundError) as error:
        print(f"pinlab lint: {error}", file=sys.stderr)
        return USAGE
    text = FORMATS[asked.format](findings)
    if text:
        print(text)
    return FOUND if findings else CLEAN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pinlab lint",
        description="Read Python source for races on pinned memory. The source is never run.",
        epilog="Exit status: 0 no findings, 1 findings, 2 wrong usage. "
        "Ignore one line with `# pinlab: ignore[PIN001] reason`; a reason is required.",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders of *.py")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument(
        "--level",
        choices=[str(level) for level in Level],
        default="warning",
        help="the lowest level to report (default: warning)",
    )
    rule_help = "rule ids, separated by commas; may be repeated"
    parser.add_argument("--enable", action="append", default=[], metavar="RULES", help=rule_help)
    parser.add_argument("--disable", action="append", default=[], metavar="RULES", help=rule_help)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--rules", action="store_true", help="list the rules and stop")
    return parser


def _options(asked: argparse.Namespace) -> Options:
    if not asked.paths:
        raise ValueError("give at least one file or folder")
    if asked.jobs is not None and asked.jobs < 1:
        raise ValueError(f"--jobs {asked.jobs}: at least one process is needed")
    return Options(Level.parse(asked.level), _rules(asked.disable), _rules(asked.enable))


def _rules(given: list[str]) -> frozenset[str]:
    names = [name.strip() for words in given for name in words.split(",") if name.strip()]
    for name in names:
        if name not in RULES:
            known = ", ".join(RULES)
            raise ValueError(f"no rule {name!r}; the rules are {known}")
    return frozenset(names)


def _rule_list() -> str:
    lines = []
    for rule in RULES.values():
        opt_in = "  (opt-in: --enable)" if rule.optional else ""
        lines.append(f"{rule.id}  {rule.name:<24}{rule.summary}{opt_in}")
    return "\n".join(lines)
