"""The table of tried versions: complete, and true about the pins of pyproject.toml."""

from __future__ import annotations

import datetime

import pytest
from packaging.specifiers import SpecifierSet

from tools import compatibility
from tools.compatibility import COLUMNS, PAGE, SHOWN, pinned, pins, place, rows

TABLE = rows(PAGE.read_text(encoding="utf-8"))
NAMES = [f"{row['Python']}, torch {row['torch']}, numpy {row['numpy']}" for row in TABLE]


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_a_row_is_complete_and_says_which_versions_are_outside_the_pins(row: dict) -> None:
    assert tuple(row) == COLUMNS
    assert all(row.values())
    assert datetime.date.fromisoformat(row["date"]) >= datetime.date(2026, 11, 1)
    assert row["pins"] == place({name: row[name] for name in ("Python", *SHOWN)})


def test_the_table_has_a_trial_within_the_pins_and_one_of_the_next_torch() -> None:
    assert "within" in {row["pins"] for row in TABLE}
    assert any(row["torch"].startswith("2.14.") for row in TABLE)


def test_pins_are_those_of_pyproject_and_each_dependency_shown_has_one() -> None:
    assert {"Python", *SHOWN} <= set(pins())
    assert pins()["torch"] == SpecifierSet("==2.13.*")


def test_another_requirement_takes_the_place_of_the_pinned_one_alone() -> None:
    text = (compatibility.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changed, more = pinned(text, ["torch==2.14.1", "torchvision==0.29.1"])
    assert changed == text.replace('"torch==2.13.*"', '"torch==2.14.1"')
    assert more == ["torchvision==0.29.1"]


def test_a_trial_that_fails_or_does_not_run_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = iter(
        ["5 passed", "3 passed", "1 failed, 4 passed", "3 passed", "5 passed", "did not run"]
    )
    versions = {"Python": "3.11.7", **dict.fromkeys(SHOWN, "1.0")}
    monkeypatch.setattr(compatibility.Trial, "make", lambda *_: None)
    monkeypatch.setattr(compatibility.Trial, "versions", lambda _: versions)
    monkeypatch.setattr(compatibility.Trial, "pytest", lambda *_: next(said))
    monkeypatch.setattr(compatibility.subprocess, "check_output", lambda *_, **__: "abc1234\n")
    assert [compatibility.main([]) for _ in range(3)] == [0, 1, 1]
    (first, *_) = rows(capsys.readouterr().out)
    assert (first["commit"], first["units"], first["lessons 01–03"]) == (
        "abc1234",
        "5 passed",
        "3 passed",
    )
    assert first["pins"] == f"outside: {', '.join(SHOWN)}"
