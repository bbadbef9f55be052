"""Answers in a file: they come back as they were, name nobody, and add up over a class."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.quiz import LETTERS, Quiz
from pinlab.classroom.quiz_command import ask, main
from pinlab.classroom.quiz_items import ITEMS
from pinlab.classroom.quiz_sheet import load, save, sheet_path
from pinlab.classroom.quiz_summary import sheets_of, summary


def answered(which: str, *wrong: str) -> Quiz:
    """All right, but for the questions named, where the first wrong option is chosen."""
    quiz = Quiz(which)
    for number, item in enumerate(quiz.items, 1):
        option = next(iter(item.wrong)) if item.id in wrong else item.right
        quiz.answer(number, LETTERS[quiz.options(number).index(option)])
    return quiz


def counts(text: str, about: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(about)]
    return re.findall(r"\d+ of \d+|–", line)


@pytest.mark.parametrize("which", ["pre", "post"])
def test_answers_come_back_as_they_were(which: str, tmp_path: Path) -> None:
    quiz = answered(which, "Q3", "Q9")
    del quiz.answers[1]
    path = save(quiz, tmp_path)
    assert path == sheet_path(which, tmp_path)
    assert load(path).answers == quiz.answers
    assert load(path).report() == quiz.report()


def test_the_file_holds_the_answers_and_nothing_about_the_person(tmp_path: Path) -> None:
    content = json.loads(save(answered("pre"), tmp_path).read_text())
    assert set(content) == {"form", "quiz", "answers"}
    assert set(content["answers"]) == {item.id for item in ITEMS}


def test_answers_are_replaced_only_when_asked(tmp_path: Path) -> None:
    save(answered("pre", "Q1"), tmp_path)
    with pytest.raises(FileExistsError, match="replaces it"):
        save(answered("pre"), tmp_path)
    save(answered("pre"), tmp_path, again=True)
    assert load(sheet_path("pre", tmp_path)).beliefs() == {}
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(answered("pre"), tmp_path / "missing")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("not json", "no answers of a quiz"),
        ('{"form": "other"}', "no 'form'"),
        ('{"form": "pinlab quiz 1", "quiz": "mid", "answers": {}}', "'pre' or 'post'"),
        ('{"form": "pinlab quiz 1", "quiz": "pre", "answers": {"Q99": "x"}}', "question Q99"),
        ('{"form": "pinlab quiz 1", "quiz": "pre", "answers": {"Q1": "x"}}', "this edition"),
    ],
)
def test_another_file_is_refused_by_name(content: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=named) as refused:
        load(path)
    assert str(path) in str(refused.value)


def test_a_class_is_counted_by_person_before_and_after() -> None:
    before = [answered("pre", "Q1", "Q2"), answered("pre", "Q1"), answered("pre")]
    after = [answered("post", "Q7"), answered("post")]
    text = summary([*before, *after])
    assert text.startswith("3 pre-quizzes, 2 post-quizzes\n")
    assert counts(text, "M2 ") == ["2 of 3", "0 of 2"]
    assert counts(text, "M9 ") == ["0 of 3", "1 of 2"]
    assert counts(text, "Q1 ") == ["1 of 3", "2 of 2"]
    assert "point at a person" in text
    assert "point at a person" not in summary([answered("pre")] * 5)
    for belief in BELIEFS:
        assert counts(text, f"{belief} ")
    assert max(map(len, text.splitlines())) <= 88


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path) -> None:
    for seat in ("01", "02"):
        (tmp_path / seat).mkdir()
        save(answered("pre"), tmp_path / seat)
    assert len(sheets_of([tmp_path])) == 2
    with pytest.raises(ValueError, match="named twice"):
        sheets_of([tmp_path, tmp_path / "01" / "pinlab-quiz-pre.json"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no \\.json file"):
        sheets_of([tmp_path / "empty"])
    with pytest.raises(ValueError, match="no quiz"):
        summary([])


def test_the_terminal_asks_again_after_a_letter_that_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiz, typed = Quiz("pre"), iter(["z", "C", "", "q"])
    ask(quiz, lambda prompt: next(typed))
    assert quiz.answers == {1: quiz.options(1)[2]}
    shown = capsys.readouterr().out
    assert "has options a, b, c; got 'z'" in shown
    assert "3. What can d hold" in shown
    assert "4. The same lines" not in shown

    def ended(prompt: str) -> str:
        raise EOFError

    ask(quiz, ended)
    assert len(quiz.answers) == 1


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def test_pre_post_report_and_summary_from_the_command_line(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pre", "--folder", folder, "--letters", "a" + "." * 11]) == 0
    first = capsys.readouterr().out
    assert "nothing was sent anywhere" in first
    assert "right" in first
    assert "M2" not in first  # the scores would spoil the second quiz
    assert main(["pre", "--folder", folder, "--letters", "." * 12]) == 2
    assert "--again replaces it" in capsys.readouterr().err
    assert main(["post", "--folder", folder, "--letters", "." * 12]) == 0
    assert re.search(r"M2 +1 → 0", capsys.readouterr().out)
    assert main(["report", "--folder", folder]) == 0
    assert re.search(r"M2 +1 → 0", capsys.readouterr().out)
    assert main(["--summary", folder]) == 0
    assert capsys.readouterr().out.startswith("1 pre-quiz, 1 post-quiz\n")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "say one of: pre, post, report"),
        (["pre", "--summary", "x"], "say one of"),
        (["mid"], "mid"),
        (["pre", "--folder", "no/such"], "no/such"),
        (["pre", "--letters", "ab", "--folder", "{}"], "'ab' has 2 letters"),
        (["report", "--folder", "{}"], "no answers in"),
        (["--summary", "no/such.json"], "no/such.json"),
    ],
)
def test_wrong_usage_ends_with_2_and_names_the_value(
    arguments: list[str], named: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.replace("{}", folder) for argument in arguments]) == 2
    assert named in capsys.readouterr().err
