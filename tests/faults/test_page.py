"""docs/faults.md: every row names a test that exists, and every file of tests here has a row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8").splitlines()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in LINES
    if line.startswith("| ") and not line.startswith("| when")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_a_test_that_exists(row: list[str]) -> None:
    when, promise, named = row
    assert when
    assert promise
    found = re.fullmatch(r"`(tests/\S+\.py)::(test_\w+)` ?\|?", named)
    assert found, named
    tree = ast.parse((ROOT / found[1]).read_text(encoding="utf-8"))
    assert found[2] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_file_of_tests_of_faults_has_a_row() -> None:
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert {
        name for name in files if not any(f"faults/{name}::" in row[2] for row in ROWS)
    } == set()
    assert len(ROWS) > 30
