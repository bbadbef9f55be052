"""Inline ignores: ``# pinlab: ignore[PIN001] because …``. Without a reason, none."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.source import Source, decode

COMMENT = re.compile(r"#\s*pinlab:\s*ignore\b(?:\s*\[(?P<rules>[^\]]*)\])?(?P<reason>.*)", re.I)
RULE_ID = re.compile(r"PIN\d{3}")


@dataclass
class Ignore:
    """One comment. `alone`: it has a line to itself and speaks for the next line of code."""

    line: int
    rules: tuple[str, ...]
    reason: str
    alone: bool
    target: int
    used: set[str] = field(default_factory=set)

    @property
    def fault(self) -> str:
        """What is missing, or the empty string."""
        if not self.rules:
            return "names no rule; write `# pinlab: ignore[PIN001] reason`"
        wrong = [rule for rule in self.rules if not RULE_ID.fullmatch(rule)]
        if wrong:
            return f"names {', '.join(map(repr, wrong))}, which is no rule id"
        if not self.reason:
            return "gives no reason, and silences nothing until it does"
        return ""


def find_ignores(source: Source) -> list[Ignore]:
    """The ignore comments of a file, read by the tokenizer: text in strings does not count."""
    if b"pinlab" not in source.data:
        return []
    return list(_comments(source))


def _comments(source: Source) -> Iterator[Ignore]:
    text = decode(source.data)
    lines = text.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if match is None:
                continue
            line = token.start[0]
            alone = not lines[line - 1][: token.start[1]].strip()
            rules = tuple(r.strip() for r in (match["rules"] or "").split(",") if r.strip())
            reason = match["reason"].strip(" \t:-–—")
            yield Ignore(line, rules, reason, alone, _target(lines, line) if alone else line)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def _target(lines: list[str], line: int) -> int:
    """The first line after `line` that is neither blank nor a comment."""
    for number in range(line, len(lines)):
        stripped = lines[number].strip()
        if stripped and not stripped.startswith("#"):
            return number + 1
    return line


def apply_ignores(
    findings: list[Finding], ignores: list[Ignore], spans: dict[int, tuple[int, int]], path: str
) -> list[Finding]:
    """What is left of `findings`, with the faults of the ignore comments themselves.

    `spans` maps a line to the first and last line of the statement that it belongs to: a
    comment at either end of a long statement speaks for the whole of it.
    """
    kept = [f for f in findings if not any(_silences(ignore, f, spans) for ignore in ignores)]
    for ignore in ignores:
        if ignore.fault:
            message = f"this ignore comment {ignore.fault}"
            kept.append(Finding(path, ignore.line, "PIN090", Level.WARNING, message))
            continue
        for rule in ignore.rules:
            if rule not in ignore.used:
                message = f"this ignore comment silences no {rule}; remove it"
                kept.append(Finding(path, ignore.line, "PIN091", Level.NOTE, message))
    return kept


def _silences(ignore: Ignore, finding: Finding, spans: dict[int, tuple[int, int]]) -> bool:
    if ignore.fault or finding.rule not in ignore.rules:
        return False
    first, last = spans.get(finding.line, (finding.line, finding.line))
    if first <= ignore.target <= last:
        ignore.used.add(finding.rule)
        return True
    return False
