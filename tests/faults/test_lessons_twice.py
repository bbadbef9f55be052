"""Lessons as they are really run: each cell twice in a row, and some of them out of order.

`tests/notebooks` and nbval run each lesson once from top to bottom, as Restart-and-Run-All does.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.lesson_files import is_solution, lesson_paths, shown
from tools.nursery import run_script

LESSONS = [path for path in lesson_paths() if not is_solution(path)]
SHORT = ("02", "04")  # two seconds each; `make soak` takes them all

# In an IPython shell of its own: what a kernel runs, without the kernel.
TURNS = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
problems = []

def run(source):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        result = shell.run_cell(source, store_history=True)
    return result.error_before_exec or result.error_in_exec

def told(error):
    return None if error is None else f"{type(error).__name__}: {error}"

cells = json.loads(sys.argv[1])
for key, source in cells:
    first, second = told(run(source)), told(run(source))
    if second != first:
        problems.append([key, source.partition(chr(10))[0], second])
if sys.argv[2] == "again":
    for key, source in cells:
        if (error := told(run(source))) is not None:
            problems.append([key, "again, from the top", error])
print(json.dumps(problems))
"""


def code(path: Path) -> list[tuple[str, str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(c["id"], "".join(c["source"])) for c in cells if c["cell_type"] == "code"]


def problems(path: Path, then: str = "") -> list[list[str]]:
    """Cells that raise in their second run what they did not raise in their first."""
    done = run_script(TURNS, json.dumps(code(path)), then, cwd=path.parent, timeout=110, check=True)
    found: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "path", [path for path in LESSONS if path.name.startswith(SHORT)], ids=shown
)
def test_each_cell_of_a_short_lesson_can_be_run_twice(path: Path) -> None:
    assert problems(path) == []


@pytest.mark.soak
@pytest.mark.parametrize("path", LESSONS, ids=shown)
def test_each_cell_of_a_lesson_can_be_run_twice_and_then_all_once_more(path: Path) -> None:
    assert problems(path, "again") == []


def test_a_cell_that_cannot_be_run_twice_is_found(tmp_path: Path) -> None:
    cells = [
        {"id": "first", "cell_type": "code", "source": ["row = [1]"]},
        {"id": "second", "cell_type": "code", "source": ["print(row)\n", "del row"]},
        {"id": "third", "cell_type": "code", "source": ["raise KeyError('meant')"]},
    ]
    lesson = tmp_path / "lesson.ipynb"
    lesson.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert problems(lesson) == [
        ["second", "print(row)", "NameError: name 'row' is not defined"],
    ]
