"""Checking many files: two rounds, over a pool of processes when there are many.

Round one collects the classes that hold pinned memory, from the few files whose bytes mention
pinning. Round two tries the syntax of every file, and walks those that mention any of the words
that the rules speak of, or one of the classes.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from pinlab.detect.lint.check import PINNING, Options, check_source, needs_walk
from pinlab.detect.lint.discovery import find_files
from pinlab.detect.lint.finding import Finding
from pinlab.detect.lint.project import Project, buffer_classes
from pinlab.detect.lint.source import find_problem, parse_source, read_bytes

POOL_FROM = 48
# Syntax trees are many objects and no cycles: collecting at Python's own pace costs a third of
# the time.
GC_THRESHOLDS = (200_000, 20, 20)
CHUNK = 8


def lint_paths(paths: Iterable[str], options: Options, jobs: int | None = None) -> list[Finding]:
    """The findings of all files at or below `paths`, sorted.

    `jobs` is the number of processes; by default one for each processor, and one alone for a
    few files. ``FileNotFoundError`` if a path does not exist.
    """
    files = find_files(paths)
    wanted = jobs if jobs is not None else (os.cpu_count() or 1)
    if wanted > 1 and len(files) >= POOL_FROM:
        return _in_pool(files, options, wanted)
    table = _table(files, map(_holders, files))
    project = Project(table, options.everything)
    names = _names(table)
    usual = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        return sorted(f for path in files for f in _check(path, project, options, names))
    finally:
        gc.set_threshold(*usual)


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


def _holders(path: str) -> list[str]:
    """The classes of a file that hold pinned memory; most files need no parsing to say none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return []
    if b"pin_memory" not in data or b"class " not in data or not PINNING.search(data):
        return []
    source = parse_source(path, data)
    return list(buffer_classes(source.tree)) if source.tree is not None else []


def _table(files: list[str], holders: Iterable[list[str]]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for path, classes in zip(files, holders, strict=True):
        for name in classes:
            table.setdefault(name, []).append(path)
    return table


def _names(table: dict[str, list[str]]) -> frozenset[bytes]:
    """The names of the classes that other files may use."""
    return frozenset(name.encode() for name in table)


def _check(path: str, project: Project, options: Options, names: frozenset[bytes]) -> list[Finding]:
    data = read_bytes(path)
    if not isinstance(data, bytes):
        return [data]
    if not needs_walk(data, options, names):
        problem = find_problem(path, data)
        return [problem] if problem is not None and problem.rule not in options.disabled else []
    return check_source(parse_source(path, data), project, options)


# In a pool: the project is built once a process, its modules parsed on first use. ------------

_projects: list[Project] = []


def _check_in_pool(job: tuple[str, dict[str, list[str]], Options]) -> list[Finding]:
    path, table, options = job
    if not _projects:
        gc.set_threshold(*GC_THRESHOLDS)
        _projects.append(Project(table, options.everything))
    return _check(path, _projects[0], options, _names(table))


def _in_pool(files: list[str], options: Options, jobs: int) -> list[Finding]:
    """The largest files first: a long one at the end would be waited for alone."""
    largest_first = sorted(files, key=_size, reverse=True)
    with ProcessPoolExecutor(jobs) as pool:
        table = _table(files, pool.map(_holders, files, chunksize=CHUNK))
        tasks = [(path, table, options) for path in largest_first]
        groups = pool.map(_check_in_pool, tasks, chunksize=CHUNK)
        return sorted(finding for group in groups for finding in group)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
