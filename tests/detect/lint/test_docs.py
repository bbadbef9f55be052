"""The pages: one a rule, each with a wrong form that is reported and a right one that is not."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import yaml

from pinlab.detect.lint import Level, Options, lint_text
from pinlab.detect.lint.rulebook import RULES

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "lint"
EVERYTHING = Options(level=Level.NOTE, enabled=frozenset({"PIN009"}))
WITHOUT_EXAMPLE = {"PIN097"}


def _block(page: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n+```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found, f"no code under {heading!r}"
    return found[1]


def _page(rule: str) -> str:
    return (PAGES / f"{rule}.md").read_text()


def test_every_rule_has_a_page_that_begins_with_its_id_and_name() -> None:
    for rule in RULES.values():
        assert _page(rule.id).startswith(f"# {rule.id} {rule.name}")
    assert {path.stem for path in PAGES.glob("PIN*.md")} == set(RULES)


@pytest.mark.parametrize("rule", sorted(set(RULES) - WITHOUT_EXAMPLE))
def test_the_wrong_form_is_reported_and_the_right_form_is_not(rule: str) -> None:
    page = _page(rule)
    assert rule in {finding.rule for finding in lint_text(_block(page, "Wrong"), EVERYTHING)}
    assert rule not in {finding.rule for finding in lint_text(_block(page, "Right"), EVERYTHING)}
    others = {finding.rule for finding in lint_text(_block(page, "Right"))}
    assert others == set(), "the right form gives another finding"


def test_the_index_names_every_rule_and_links_its_page() -> None:
    index = (PAGES / "index.md").read_text()
    for rule in RULES.values():
        assert f"| [{rule.id}]({rule.id}.md) | {rule.name} |" in index


def test_the_first_example_of_the_index_runs() -> None:
    result = doctest.testfile(str(PAGES / "index.md"), module_relative=False)
    assert result.attempted >= 2
    assert result.failed == 0


def test_the_hooks_run_the_command_on_python_files() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["pinlab-lint", "pinlab-lint-local"]
    for hook in hooks:
        assert hook["entry"] == "python -m pinlab lint"
        assert hook["types"] == ["python"]
