"""The guide is true: clocks add up, beliefs fit, votes print what they say, tokens replay."""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import re
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.levels import find_level
from pinlab.classroom.question import Question, find_question
from pinlab.classroom.series import SERIES, Lesson
from pinlab.device import pick_device
from pinlab.schedules import explore, replay
from pinlab.serving import VARIANTS
from pinlab.serving.scenarios import SCENARIOS
from tests.workshop.markdown import ROOT, page, section, tables, without_code

GUIDE = page("instructor_guide.md")
CLOCKS = {"90 minutes": 90, "Half a day": 240, "A full day": 480}
NOTEBOOKS = {path.name[:2] for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
EACH = pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.number)


def about(lesson: Lesson) -> str:
    return section(GUIDE, f"### {lesson.number} {lesson.title}")


def minutes(clock: str) -> int:
    hours, rest = clock.split(":")
    return 60 * int(hours) + int(rest)


@pytest.mark.parametrize("name", CLOCKS)
def test_the_minutes_of_a_timetable_add_up_to_its_clock(name: str) -> None:
    plan, _ = tables(section(GUIDE, f"### {name}"))
    now = minutes("9:00")
    for row in plan:
        assert minutes(row["clock"]) == now, row
        now += int(row["min"])
        assert row["lesson"] in {"–", *(lesson.number for lesson in SERIES)}
    assert now - minutes("9:00") == CLOCKS[name]


@pytest.mark.parametrize("name", CLOCKS)
def test_what_is_dropped_when_late_saves_less_than_its_part_takes(name: str) -> None:
    plan, drops = tables(section(GUIDE, f"### {name}"))
    takes = {row["clock"]: row for row in plan}
    assert drops
    for row in drops:
        clock = row["when late, drop"].split(",")[0]
        assert 0 < int(row["saves"]) < int(takes[clock]["min"]), row
        assert takes[clock]["lesson"] != "–"


def test_a_longer_timetable_leaves_no_lesson_out_that_a_shorter_one_has() -> None:
    taught = [
        {row["lesson"] for row in tables(section(GUIDE, f"### {name}"))[0]} for name in CLOCKS
    ]
    assert taught[0] < taught[1] < taught[2]
    assert taught[2] == {"–", *(lesson.number for lesson in SERIES)}


@EACH
def test_a_lesson_has_its_take_home_sentence(lesson: Lesson) -> None:
    assert f"**Take home.** {lesson.take_home}" in " ".join(about(lesson).split())


@EACH
def test_a_lesson_in_the_data_is_called_as_in_its_notebook(lesson: Lesson) -> None:
    if lesson.number in NOTEBOOKS:
        (path,) = (ROOT / "notebooks").glob(f"{lesson.number}_*.ipynb")
        assert path.stem[3:].replace("_", " ") == lesson.title.replace("_", " ")


def questions_of(lesson: Lesson) -> tuple[Question, ...]:
    try:
        module = importlib.import_module(f"pinlab.classroom.questions.lesson_{lesson.number}")
    except ModuleNotFoundError:
        assert lesson.number not in NOTEBOOKS
        return ()
    questions: tuple[Question, ...] = module.QUESTIONS
    return questions


@EACH
def test_the_data_names_every_belief_that_a_lessons_predictions_meet(lesson: Lesson) -> None:
    met = set()
    for question in questions_of(lesson):
        for table in (question.betrays, *question.betrays_part.values()):
            met |= set(table.values())
    assert met <= set(lesson.beliefs)


@EACH
def test_expected_wrong_answers_betray_the_belief_that_is_named(lesson: Lesson) -> None:
    rows = tables(about(lesson))[0]
    assert len(rows) >= 3
    for row in rows:
        assert row["what to say"]
        belief = None if row["belief"] == "–" else row["belief"]
        assert belief is None or belief in BELIEFS
        if "asked" not in row:
            continue
        number, _, part = row["asked"].partition(" ")
        question = find_question(number)
        assert not part or part in question.parts
        assert question.belief_behind(question.option(row["wrong answer"]), part) == belief, row


def votes_of(lesson: Lesson) -> tuple[str, list[tuple[str, str]]]:
    """The code of a vote, and its options as (text, verdict)."""
    text = about(lesson).split("**Vote.**")[1].split("**Pair task.**")[0]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    options = re.findall(r"^- [A-D]: (.*?) ?\((right|M\d+)\)$", text, re.MULTILINE)
    return (code[1] if code else ""), options


@EACH
def test_each_vote_has_one_right_option_and_beliefs_behind_the_others(lesson: Lesson) -> None:
    _, options = votes_of(lesson)
    assert 3 <= len(options) <= 4
    verdicts = [verdict for _, verdict in options]
    assert verdicts.count("right") == 1
    assert set(verdicts) - {"right"} <= set(BELIEFS)
    assert len(set(verdicts)) >= 3


def printed(code: str, name: str) -> str:
    device = pick_device()
    names: dict[str, Any] = {"np": np, "torch": torch, "sim": sim, "device": device}
    names |= {"gpu": torch.get_device_module(device), "explore": explore, "replay": replay}
    names |= {"VARIANTS": VARIANTS, "SCENARIOS": SCENARIOS, "find_level": find_level}
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(code, name, "exec"), names)
    return shown.getvalue().strip()


@EACH
def test_the_code_of_a_vote_prints_what_the_right_option_says(lesson: Lesson) -> None:
    code, options = votes_of(lesson)
    if not code:
        assert lesson.number == "00"
        return
    result = printed(code, f"<vote {lesson.number}>")
    said = {verdict: re.match(r"`([^`]+)`", text) for text, verdict in options}
    assert all(said.values()), options
    assert said["right"][1] == result  # type: ignore[index]


@EACH
def test_each_lesson_has_a_pair_task(lesson: Lesson) -> None:
    assert len(about(lesson).split("**Pair task.**")[1].split()) >= 15


def token_rows() -> list[dict[str, str]]:
    rows = [row for lesson in SERIES for table in tables(about(lesson)) for row in table]
    return [row for row in rows if "token" in row]


@pytest.mark.parametrize("row", token_rows(), ids=lambda row: f"{row['program']} {row['token']}")
def test_tokens_replay_to_the_outcome_in_the_table(row: dict[str, str]) -> None:
    words, token = row["program"], row["token"].strip("`")
    if words.startswith("level "):
        level = find_level(words.removeprefix("level "))
        value = replay(level.program, token, pieces=level.pieces if level.torn else 1)
    else:
        scenario, batch = words.removeprefix("scenario ").split(" with ")
        value = replay(SCENARIOS[scenario].program(VARIANTS[batch].batch), token)
    assert f"`{value}`" == row["comes out"]


def test_there_are_tokens_for_levels_and_for_the_engines_scenarios() -> None:
    rows = token_rows()
    assert sum(row["program"].startswith("level ") for row in rows) >= 10
    assert sum(row["program"].startswith("scenario ") for row in rows) >= 4


def test_the_beliefs_are_those_of_the_lessons() -> None:
    (table,) = tables(section(GUIDE, "## The fourteen beliefs"))
    assert [row["id"] for row in table] == list(BELIEFS)
    for row in table:
        assert row["the belief"] == BELIEFS[row["id"]].wrong
        assert row["what holds"] == BELIEFS[row["id"]].true
        met = [lesson.number for lesson in SERIES if row["id"] in lesson.beliefs]
        assert row["lessons"] == ", ".join(met)
        assert met


def test_every_belief_that_the_guide_names_exists() -> None:
    assert set(re.findall(r"\bM\d+\b", GUIDE)) == set(BELIEFS)


def test_every_command_and_level_that_the_guide_names_exists() -> None:
    from pinlab.commands import COMMANDS

    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`(?:\w+=\w+ )?make ([a-z]+)`", GUIDE)) <= targets
    assert set(re.findall(r"python -m pinlab ([a-z]+)", GUIDE)) <= set(COMMANDS)
    for name in re.findall(r"`(?:python )?(tools/\w+\.py)", without_code(GUIDE)):
        assert (ROOT / name).exists(), name
