"""docs/game.md says what the game does: its transcript, its keys, its levels."""

from __future__ import annotations

import re
from pathlib import Path

from pinlab.classroom import LEVELS, SchedulerGame
from pinlab.classroom.game_memory import MOST_VALUES
from pinlab.classroom.game_rules import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "game.md").read_text(encoding="utf-8")


def test_the_transcript_on_the_page_is_what_the_game_prints() -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert shown == repr(SchedulerGame.level(1).play("hh"))


def test_every_key_has_a_row() -> None:
    rows = re.findall(r"^\| `(.)`", PAGE, re.MULTILINE)
    assert set(rows) == {key[0] for key in KEYS}


def test_every_level_has_a_row() -> None:
    rows = re.findall(r"^\| (\d+) \| `([\w-]+)` \| ([^|]+) \| (M\d+) \|", PAGE, re.MULTILINE)
    assert rows == [
        (str(number), level.id, level.title, level.belief) for number, level in enumerate(LEVELS, 1)
    ]


def test_the_limit_of_shown_values_is_right() -> None:
    assert f"up to {MOST_VALUES} elements each" in PAGE
