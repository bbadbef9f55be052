"""Checking many files: two rounds, over a pool of processes when there are many.

Round one parses every file, reports what does not parse, and collects the classes that hold
pinned memory. Round two walks the files that mention any of the words, or one of those classes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from pinlab.detect.lint.check import Options, check_source, needs_walk
from pinlab.detect.lint.discovery import find_files
from pinlab.detect.lint.finding import Finding
from pinlab.detect.lint.project import Project, buffer_classes
from pinlab.detect.lint.source import parse_source, read_source

POOL_FROM = 48
CHUNK = 24


@dataclass
class FirstLook:
    """What round one knows of a file."""

    path: str
    problem: Finding | None = None
    classes: list[str] = field(default_factory=list)


def lint_paths(paths: Iterable[str], options: Options, jobs: int | None = None) -> list[Finding]:
    """The findings of all files at or below `paths`, sorted.

    `jobs` is the number of processes; by default one for each processor, and one alone for a
    few files. ``FileNotFoundError`` if a path does not exist.
    """
    files = find_files(paths)
    wanted = jobs if jobs is not None else (os.cpu_count() or 1)
    if wanted > 1 and len(files) >= POOL_FROM:
        return _in_pool(files, options, wanted)
    looks = [_first_look(path) for path in files]
    table, rest = _sort_out(looks)
    project = Project(table, options.everything)
    names = _names(table)
    found = [f for path in rest for f in _second_look(path, project, options, names)]
    return _all(looks, found)


def lint_text(
    text: str | bytes, options: Options | None = None, path: str = "<text>"
) -> list[Finding]:
    """The findings of one piece of source.

    >>> lint_text("def f(:")
    [<text>:1: PIN095 error: syntax error: invalid syntax; nothing in this file was checked]
    """
    data = text.encode() if isinstance(text, str) else text
    source = parse_source(path, data)
    table = {name: [path] for name in buffer_classes(source.tree)} if source.tree else {}
    chosen = options or Options()
    return check_source(source, Project(table, chosen.everything), chosen)


def _first_look(path: str) -> FirstLook:
    source = read_source(path)
    if source.tree is None:
        return FirstLook(path, source.problem)
    classes = list(buffer_classes(source.tree)) if b"pin_memory" in source.data else []
    return FirstLook(path, None, classes)


def _sort_out(looks: list[FirstLook]) -> tuple[dict[str, list[str]], list[str]]:
    table: dict[str, list[str]] = {}
    for look in looks:
        for name in look.classes:
            table.setdefault(name, []).append(look.path)
    return table, [look.path for look in looks if look.problem is None]


def _names(table: dict[str, list[str]]) -> re.Pattern[bytes] | None:
    """A pattern for the names of the classes that other files may use."""
    if not table:
        return None
    return re.compile(b"\\b(?:" + b"|".join(re.escape(name.encode()) for name in table) + b")\\b")


def _second_look(
    path: str, project: Project, options: Options, names: re.Pattern[bytes] | None
) -> list[Finding]:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return []
    if not needs_walk(data, options, names):
        return []
    return check_source(parse_source(path, data), project, options)


def _all(looks: list[FirstLook], found: list[Finding]) -> list[Finding]:
    problems = [look.problem for look in looks if look.problem is not None]
    return sorted([*problems, *found])


# In a pool: the project is built once a process, its modules parsed on first use. ------------

_worker: list[tuple[Project, Options, re.Pattern[bytes] | None]] = []


def _start_worker(table: dict[str, list[str]], options: Options) -> None:
    project = Project(table, options.everything)
    _worker[:] = [(project, options, _names(table))]


def _second_in_pool(path: str) -> list[Finding]:
    project, options, names = _worker[0]
    return _second_look(path, project, options, names)


def _in_pool(files: list[str], options: Options, jobs: int) -> list[Finding]:
    with ProcessPoolExecutor(jobs) as pool:
        looks = list(pool.map(_first_look, files, chunksize=CHUNK))
    table, rest = _sort_out(looks)
    with ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(table, options)) as pool:
        groups = list(pool.map(_second_in_pool, rest, chunksize=CHUNK))
    return _all(looks, [finding for group in groups for finding in group])
