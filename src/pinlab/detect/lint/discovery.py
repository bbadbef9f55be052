"""Which files: those named, and every ``*.py`` below the folders named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


def find_files(paths: Iterable[str]) -> list[str]:
    """The files to check, sorted, each once. ``FileNotFoundError`` names a path that is absent.

    Below a folder, hidden folders, ``__pycache__``, ``node_modules``, ``site-packages`` and
    virtual environments are left out. A folder that is named itself is always entered.
    """
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            for file in _below(path):
                found.setdefault(os.path.realpath(file), file)
        elif os.path.exists(path):
            found.setdefault(os.path.realpath(path), path)
        else:
            raise FileNotFoundError(f"no such file or folder: {path}")
    return sorted(Path(file).as_posix() for file in found.values())


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if _entered(place, name))
        for name in sorted(files):
            if name.endswith(".py"):
                yield os.path.normpath(os.path.join(place, name))


def _entered(place: str, name: str) -> bool:
    if name.startswith(".") or name in SKIPPED:
        return False
    return not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
