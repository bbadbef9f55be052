"""The levels: each can be won, only on purpose, its repair is certified, and no text tells how."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pinlab.classroom import LEVELS, Goal, Level, SchedulerGame
from pinlab.classroom.levels import find_level
from pinlab.schedules import Outcome, explore, replay

EVERY = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
REPAIRED = pytest.mark.parametrize(
    "level", [level for level in LEVELS if level.repaired], ids=lambda level: level.id
)
PUZZLES = pytest.mark.parametrize(
    "level", [level for level in LEVELS if level.token], ids=lambda level: level.id
)


def repair_of(level: Level) -> set[str]:
    """The lines that only the repaired program has."""
    if level.repaired is None:
        return set()
    return lines(level.repaired) - lines(level.program)


def lines(function: Callable[[], object]) -> set[str]:
    return set(inspect.getsource(function).splitlines())


def torn(level: Level) -> int:
    return level.pieces if level.torn else 1


@PUZZLES
def test_the_token_reaches_the_goal_in_the_game_and_in_replay(level: Level) -> None:
    played = SchedulerGame.level(level.id).replay(level.token, pieces=torn(level))
    assert played.reached
    assert played.token == level.token
    value = replay(level.program, level.token, pieces=torn(level))
    assert Outcome(value) == played.outcome
    assert level.goal.reached(Outcome(value), None)


@EVERY
def test_the_plain_schedules_give_what_the_text_says(level: Level) -> None:
    assert replay(level.program, "h") == level.latest
    assert explore(level.program).reference == level.early
    assert repr(level.latest) in level.told_after
    assert repr(level.early) in level.told_after


@EVERY
def test_the_host_alone_does_not_reach_the_goal(level: Level) -> None:
    played = SchedulerGame.level(level.id).replay("h")
    assert played.outcome == level.latest
    assert not played.reached


@pytest.mark.parametrize("level", LEVELS[1:], ids=lambda level: level.id)
def test_from_level_two_on_an_eager_device_does_not_reach_it_either(level: Level) -> None:
    assert not level.goal.reached(Outcome(level.early), None)


@EVERY
def test_what_is_called_right_is_what_an_eager_device_gives(level: Level) -> None:
    assert level.goal.expect == level.early


@PUZZLES
def test_the_broken_program_has_not_become_right(level: Level) -> None:
    report = explore(level.program, expect=level.goal.expect, pieces=torn(level))
    assert report.complete
    assert not report.correct
    assert any(level.goal.reached(outcome, None) for outcome in report.outcomes)


@REPAIRED
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_the_repaired_program_is_certified(level: Level, pieces: int) -> None:
    assert explore(level.repaired, expect=level.goal.expect, pieces=pieces).correct


def test_the_torn_level_cannot_be_won_with_whole_copies() -> None:
    level = find_level("torn-copy")
    assert level.goal.wanted not in explore(level.program).outcomes


@EVERY
def test_a_level_is_won_by_its_keys_and_its_repair_by_the_certificate(level: Level) -> None:
    game = SchedulerGame.level(level.id)
    keys = game.replay(level.token, pieces=torn(level)).keys if level.token else "c"
    assert game.play(keys).reached
    if level.repaired:
        certified = game.play(keys + "nc")
        assert certified.reached
        assert "repaired: correct in every schedule" in repr(certified)


@EVERY
def test_no_text_carries_the_answer(level: Level) -> None:
    game = SchedulerGame.level(level.id)
    texts = "\n".join([level.title, level.before, level.after, level.hint, level.told_after])
    assert not re.search(r"\b[hdq]\d+\b|\bs\d+d\d*\b|\b[hx][hdxo]{2,}\b", texts)
    start = repr(game)
    assert level.after not in start
    assert not level.token or level.token not in start
    for line in repair_of(level):
        assert line not in start


@EVERY
def test_the_hint_is_shown_on_its_key_and_not_before(level: Level) -> None:
    game = SchedulerGame.level(level.id)
    assert level.hint not in repr(game)
    assert game.play("?").state.message == level.hint


@EVERY
def test_the_texts_stand_around_the_game(level: Level) -> None:
    words = " ".join(repr(SchedulerGame.level(level.id)).split())
    assert level.title in words
    assert " ".join(level.before.split()) in words


def test_levels_have_numbers_ids_and_a_file_each() -> None:
    assert len(LEVELS) >= 8
    assert len({level.id for level in LEVELS}) == len({level.title for level in LEVELS})
    for number, level in enumerate(LEVELS, 1):
        assert find_level(number) is find_level(level.id) is level
        assert Path(inspect.getfile(level.program)).stem == level.id.replace("-", "_")
        assert len(inspect.getsource(level.program).splitlines()) <= 12
    with pytest.raises(LookupError, match=r"no level 'ring'; there are 1 which-value, 2 "):
        find_level("ring")


def test_a_level_must_name_a_belief_and_a_token() -> None:
    given = {"id": "x", "title": "", "program": list, "before": "", "after": "", "hint": ""}
    given |= {"latest": 1, "early": 1}
    with pytest.raises(ValueError, match="level x: no belief 'M99'"):
        Level(goal=Goal.right(1), belief="M99", token="h", **given)
    with pytest.raises(ValueError, match="level x: no token that reaches the goal"):
        Level(goal=Goal.right(1), belief="M1", token="", **given)
