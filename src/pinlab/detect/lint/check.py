"""Checking one file: read, walk, judge, ignore."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.interpreter import Interpreter
from pinlab.detect.lint.flow.modules import survey
from pinlab.detect.lint.flow.occurrences import HostRead, HostWrite, Occurrence, RawDrop
from pinlab.detect.lint.ignores import apply_ignores, find_ignores
from pinlab.detect.lint.project import Project
from pinlab.detect.lint.rulebook import WALKED
from pinlab.detect.lint.rules import naming
from pinlab.detect.lint.source import Source

# A file without any of these words cannot give a finding above a note.
PINNING = re.compile(rb"\.pin_memory\(|\bpin_memory\s*=\s*(?!False\b|None\b)")
ROW_MOVE = re.compile(rb"^\s*([\w.]+)\[[^=]*\]\s*=\s*\1\[")
TUPLE_SWAP = re.compile(rb"^\s*\(?([\w.]+)\[[^=]*\]\s*,\s*\1\[[^=]*\]\s*,?\s*\)?\s*=[^=]")
WALK_DEPTH = 20_000


@dataclass(frozen=True)
class Options:
    """What to report: the lowest level, rules switched off, opt-in rules switched on."""

    level: Level = Level.WARNING
    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()

    @property
    def everything(self) -> bool:
        """Plain arrays matter too (notes), or names do: no function is left out."""
        return self.level is Level.NOTE or naming.ID in self.enabled


def needs_walk(data: bytes, options: Options, names: frozenset[bytes]) -> bool:
    """Whether the file's bytes contain anything that the rules could speak of.

    `names`: classes that hold pinned memory, of whatever file.
    """
    if b"pin_memory" in data and PINNING.search(data):
        return True
    if b"record_stream(" in data or b"pinlab:" in data:
        return True
    if b"non_blocking" in data and (b"'cpu'" in data or b'"cpu"' in data):
        return True
    if any(name in data for name in names):
        return True
    if b"torch" not in data and b"numpy" not in data:
        return False
    return options.everything or _moves_rows(data)


def _moves_rows(data: bytes) -> bool:
    """``m[i], m[j] = …``, or ``m[i] = m[j]`` beside ``t = m[i]`` and ``m[j] = t``."""
    for mark in (b"] =", b"]=", b"]) ="):
        for line in _lines_with(mark, data):
            move = ROW_MOVE.match(line) if line.count(b"[") > 1 else None
            if move is not None and _through_a_name(move[1].rpartition(b".")[2], data):
                return True
            if b"]," in line and TUPLE_SWAP.match(line):
                return True
    return False


def _lines_with(mark: bytes, data: bytes) -> Iterator[bytes]:
    """The lines that contain `mark`, found without looking at the others."""
    at = data.find(mark)
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[data.rfind(b"\n", 0, at) + 1 : end]
        at = data.find(mark, end)


def _through_a_name(rows: bytes, data: bytes) -> bool:
    taken = re.compile(rb"[ \t]*\w+[ \t]*=[ \t]*(?:[\w.]*\.)?" + re.escape(rows) + rb"\[")
    put_back = re.compile(
        rb"[ \t]*(?:[\w.]*\.)?" + re.escape(rows) + rb"\[[^=]*\][ \t]*=[ \t]*\w+[ \t]*(?:#|$)"
    )
    lines = list(_lines_with(rows + b"[", data))
    return any(map(taken.match, lines)) and any(map(put_back.match, lines))


def check_source(source: Source, project: Project, options: Options) -> list[Finding]:
    """The findings of one file, sorted, at `options.level` and above."""
    if source.tree is None:
        assert source.problem is not None
        return [source.problem] if _wanted(source.problem, options) else []
    findings = _walk(source, source.tree, project, options)
    findings = [f for f in findings if _wanted(f, options)]
    ignores = find_ignores(source)
    if ignores:
        findings = apply_ignores(findings, ignores, _spans(source.tree), source.path)
    return sorted({f for f in findings if f.level >= options.level and _wanted(f, options)})


def _walk(source: Source, tree: ast.Module, project: Project, options: Options) -> list[Finding]:
    module = survey(source.path, tree)
    project.adopt(module)
    collected: dict[tuple[str, int, str], Finding] = {}

    def notice(occurrence: Occurrence) -> None:
        for rule in WALKED:
            found = rule.judge(occurrence) if rule.judge is not None else None
            if found is not None:
                key = (found.rule, found.line, _buffer_name(occurrence))
                if key not in collected or collected[key].level < found.level:
                    collected[key] = found

    walker = Interpreter(module, project, notice)
    if naming.ID in options.enabled:
        walker.trusted_suffixes = naming.BUFFER_SUFFIXES
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, WALK_DEPTH))
    try:
        walker.walk()
        names = _naming(walker, source.path, options)
    except RecursionError:
        message = "is nested too deeply to be walked to its end"
        names = [Finding(source.path, 1, "PIN097", Level.WARNING, message)]
    finally:
        sys.setrecursionlimit(limit)
        project.forget(module)
    return [*collected.values(), *names]


def _naming(walker: Interpreter, path: str, options: Options) -> list[Finding]:
    if naming.ID not in options.enabled:
        return []
    classes = walker.module.classes.values()
    return [
        *(f for c in classes for f in naming.check_names(path, c, walker.class_attributes(c))),
        *naming.check_reach(path, walker.module.tree),
    ]


def _buffer_name(occurrence: Occurrence) -> str:
    if isinstance(occurrence, HostWrite | HostRead | RawDrop):
        buffer = occurrence.pending.buffer
    else:
        buffer = occurrence.array.buffer
    return str(buffer.name or buffer.place.line)


def _wanted(finding: Finding, options: Options) -> bool:
    if finding.rule == naming.ID and naming.ID not in options.enabled:
        return False
    return finding.rule not in options.disabled


def _spans(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Each line of a simple statement, to the statement's first and last line."""
    spans: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            last = node.end_lineno or node.lineno
            for line in range(node.lineno, last + 1):
                spans[line] = (node.lineno, last)
    return spans
