"""Three ways to print findings: for people, for programs, for GitHub's annotations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.rulebook import RULES

GITHUB_WORDS = {Level.NOTE: "notice", Level.WARNING: "warning", Level.ERROR: "error"}


def as_text(findings: Sequence[Finding]) -> str:
    """One line a finding, and a count.

    >>> as_text([])
    'no findings'
    """
    if not findings:
        return "no findings"
    files = len({finding.path for finding in findings})
    count = f"{len(findings)} finding{'s' * (len(findings) != 1)}"
    return "\n".join([*map(repr, findings), f"{count} in {files} file{'s' * (files != 1)}"])


def as_json(findings: Sequence[Finding]) -> str:
    """A JSON array, one row a line: ``path``, ``line``, ``rule``, ``level``, ``message``."""
    rows = ",\n ".join(json.dumps(finding.row(), ensure_ascii=False) for finding in findings)
    return f"[{rows}]"


def as_github(findings: Sequence[Finding]) -> str:
    """Workflow commands, which GitHub shows as annotations on the lines.

    >>> as_github([Finding("a.py", 3, "PIN001", Level.ERROR, "50% done")])
    '::error file=a.py,line=3,title=PIN001 pinned-view-escapes::50%25 done'
    """
    return "\n".join(map(_annotation, findings))


def _annotation(finding: Finding) -> str:
    title = f"{finding.rule} {RULES[finding.rule].name}"
    path = _escaped(finding.path).replace(":", "%3A").replace(",", "%2C")
    word = GITHUB_WORDS[finding.level]
    return f"::{word} file={path},line={finding.line},title={title}::{_escaped(finding.message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
}
