"""Questions are data, and bad data or bad answers are told with what would be right."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
import torch

from pinlab.classroom import questions
from pinlab.classroom.question import Question, find_question, is_open

YES_NO = Question("01.1", "Does it?", ("yes", "no"), {"yes": "M1"})
NUMBERS = Question("01.1", "How many?", ("3", "7"))


@pytest.mark.parametrize(
    ("question", "answer", "option"),
    [
        (YES_NO, True, "yes"),
        (YES_NO, np.bool_(False), "no"),
        (YES_NO, torch.tensor(True), "yes"),
        (YES_NO, " Yes ", "yes"),
        (NUMBERS, 7, "7"),
        (NUMBERS, np.int32(3), "3"),
        (NUMBERS, torch.tensor([7], dtype=torch.int32), "7"),
        (NUMBERS, "3", "3"),
        (Question("01.1", "?", ("shared", "copy"), truth=("shared", "copy")), True, "shared"),
    ],
)
def test_an_answer_is_read_generously(question: Question, answer: object, option: str) -> None:
    assert question.option(answer) == option


@pytest.mark.parametrize("answer", [5, True, "", [3], torch.zeros(2), object()])
def test_an_answer_that_is_not_offered_is_an_error_that_lists_the_options(answer: object) -> None:
    with pytest.raises(ValueError, match=r"01\.1 takes one of '3', '7'; got"):
        NUMBERS.option(answer)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "1.1"}, "NN.M"),
        ({"options": ("yes",)}, "fewer than two"),
        ({"betrays": {"maybe": "M1"}}, "does not offer"),
        ({"betrays": {"yes": "M15"}}, "does not exist"),
        ({"betrays_part": {"b": {"yes": "M1"}}, "parts": ("a",)}, "part it does not have"),
    ],
)
def test_bad_question_data_is_refused(change: dict, message: str) -> None:
    good = {"id": "01.1", "prompt": "Does it?", "options": ("yes", "no")}
    Question(**good)
    with pytest.raises(ValueError, match=message):
        Question(**{**good, **change})


def test_a_part_may_have_a_belief_of_its_own() -> None:
    question = Question(
        "01.1",
        "Shared?",
        ("shared", "copy"),
        betrays={"copy": "M2"},
        parts=("a", "b"),
        betrays_part={"b": {"shared": "M1"}},
    )
    assert question.belief_behind("copy", "a") == question.belief_behind("copy", "b") == "M2"
    assert question.belief_behind("shared", "a") is None
    assert question.belief_behind("shared", "b") == "M1"


@pytest.mark.parametrize("wanted", ["1", "one", 1, "01.99", "99.1"])
def test_an_unknown_question_says_what_there_is(wanted: object) -> None:
    with pytest.raises(LookupError, match=r"NN\.M|01\.1, 01\.2|lesson 99 has no questions"):
        find_question(wanted)  # type: ignore[arg-type]


def test_every_question_of_every_lesson_loads_and_stands_in_its_own_file() -> None:
    lessons = [m.name for m in pkgutil.iter_modules(questions.__path__)]
    assert "lesson_01" in lessons
    for name in lessons:
        entries = importlib.import_module(f"pinlab.classroom.questions.{name}").QUESTIONS
        ids = [question.id for question in entries]
        number = name.removeprefix("lesson_")
        assert ids == [f"{number}.{i}" for i in range(1, len(ids) + 1)]


def test_only_dots_and_none_are_open() -> None:
    assert is_open(...)
    assert is_open(None)
    assert not any(map(is_open, (0, False, "", [], np.zeros(2))))
