"""The issue forms fit GitHub's schema, as far as can be checked here, and ask what is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pinlab.classroom.series import SERIES
from tests.workshop.markdown import ROOT

FOLDER = ROOT / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(path for path in FOLDER.glob("*.yml") if path.name != "config.yml")
TOP = {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
ATTRIBUTES = {
    "markdown": ({"value"}, set()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}
EACH = pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)


def form(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def fields(path: Path) -> dict[str, dict[str, Any]]:
    return {part["id"]: part for part in form(path)["body"] if part["type"] != "markdown"}


@EACH
def test_a_form_has_the_keys_that_github_knows(path: Path) -> None:
    top = form(path)
    assert set(top) <= TOP
    for key in ("name", "description"):
        assert isinstance(top[key], str)
        assert len(top[key]) >= 4
    assert all(isinstance(label, str) for label in top["labels"])
    assert any(part["type"] != "markdown" for part in top["body"])


@EACH
def test_each_part_of_a_form_has_what_its_type_needs(path: Path) -> None:
    for part in form(path)["body"]:
        assert set(part) <= {"type", "id", "attributes", "validations"}
        needed, allowed = ATTRIBUTES[part["type"]]
        assert needed <= set(part["attributes"]) <= needed | allowed, part
        assert set(part.get("validations", {})) <= {"required"}
        for option in part["attributes"].get("options", []):
            if part["type"] == "dropdown":
                assert isinstance(option, str)
                assert option.lower() not in ("none", "true", "false", "")
            else:
                assert set(option) <= {"label", "required"}
                assert isinstance(option["label"], str)


@EACH
def test_ids_labels_and_options_occur_once(path: Path) -> None:
    parts = [part for part in form(path)["body"] if part["type"] != "markdown"]
    assert all(re.fullmatch(r"[\w-]+", part["id"]) for part in parts)
    for values in (
        [part["id"] for part in parts],
        [part["attributes"]["label"] for part in parts],
        *([str(o) for o in part["attributes"].get("options", [])] for part in parts),
    ):
        assert len(set(values)) == len(values)


def test_names_of_the_forms_differ() -> None:
    names = [form(path)["name"] for path in FORMS]
    assert len(set(names)) == len(names) >= 3


def test_the_form_about_a_lesson_asks_for_lesson_cell_and_environment() -> None:
    asked = fields(FOLDER / "lesson.yml")
    for name in ("lesson", "cell", "environment"):
        assert asked[name]["validations"] == {"required": True}
    assert "python -m pinlab check" in asked["environment"]["attributes"]["description"]
    options = asked["lesson"]["attributes"]["options"]
    assert options[:10] == [f"{lesson.number} {lesson.title}" for lesson in SERIES]


def test_the_form_that_troubleshooting_names_exists() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert f"“{form(FOLDER / 'lesson.yml')['name']}”" in text


def test_blank_issues_stay_possible() -> None:
    assert form(FOLDER / "config.yml") == {"blank_issues_enabled": True}
