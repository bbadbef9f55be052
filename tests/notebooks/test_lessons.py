"""Every lesson on disk is canonical and keeps every rule; see ``tools/lesson_rules.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.canonical import problems
from tools.lesson_files import ALLOWED_SKIPS, is_solution, lesson_paths, read, shown
from tools.lesson_rules import RULES, Rule

PATHS = lesson_paths()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", PATHS, ids=shown)
def test_a_lesson_keeps_the_rule(path: Path, rule: Rule) -> None:
    assert rule(path, read(path)) == []


@pytest.mark.parametrize("path", PATHS, ids=shown)
def test_a_lesson_is_canonical_and_was_run_in_order(path: Path) -> None:
    assert problems(read(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [p for p in PATHS if not is_solution(p)], ids=shown)
def test_a_lesson_with_exercises_has_solutions(path: Path) -> None:
    exercises = any("exercise" in cell.metadata.get("tags", []) for cell in read(path).cells)
    solution = path.parent / "solutions" / path.name
    assert solution.exists() or not exercises, f"{shown(solution)} is missing"


def test_the_list_of_skips_names_cells_that_exist() -> None:
    present = {(path.name, cell.id) for path in PATHS for cell in read(path).cells}
    assert set(ALLOWED_SKIPS) <= present
