"""Real bugs, as the casebook tells them: the wrong form is seen, the repaired one is not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pinlab.detect.lint import lint_text

CASEBOOK = Path(__file__).parents[3] / "src" / "pinlab" / "casebook"
FILES = {path.stem.partition("_")[0]: path for path in CASEBOOK.glob("[cz][0-9][0-9]_*.py")}
# What the text alone gives away. The others need the run, the platform or the caller.
SEEN = {
    "z02": "PIN006",
    "z07": "PIN003",
    "z08": "PIN003",
    "z11": "PIN003",
    "z12": "PIN003",
    "z18": "PIN003",
    "z21": "PIN003",
    "z28": "PIN003",
    "z29": "PIN004",
    "z31": "PIN004",
    "z34": "PIN004",
    "z37": "PIN005",
    "z55": "PIN007",
    "z60": "PIN004",
}


def _found_in(case: str) -> dict[str, set[str]]:
    """The rules reported at the default level, by the function of the case's file."""
    text = FILES[case].read_text()
    spans = {
        node.name: range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    found: dict[str, set[str]] = {}
    for finding in lint_text(text):
        name = next((n for n, lines in spans.items() if finding.line in lines), "elsewhere")
        found.setdefault(name, set()).add(finding.rule)
    return found


@pytest.mark.parametrize("case", sorted(SEEN))
def test_the_broken_form_is_seen_and_the_repaired_one_is_not(case: str) -> None:
    assert _found_in(case) == {"broken": {SEEN[case]}}


@pytest.mark.parametrize("case", sorted(set(FILES) - set(SEEN)))
def test_repaired_forms_and_controls_are_silent(case: str) -> None:
    found = _found_in(case)
    if case.startswith("z"):
        found.pop("broken", None)
    assert found == {}


def test_the_controls_are_among_them() -> None:
    assert len([case for case in FILES if case.startswith("c")]) >= 10
