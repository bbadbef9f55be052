"""A quiz's answers as a file in a folder of the learner's choice; no name, no date, no machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pinlab.classroom.quiz import LETTERS, Quiz

FORM = "pinlab quiz 1"
WHICH = ("pre", "post")


def sheet_path(which: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Where the answers of a quiz lie.

    >>> sheet_path("pre", "answers").name
    'pinlab-quiz-pre.json'
    """
    if which not in WHICH:
        raise ValueError(f"quiz {which!r}; there are 'pre' and 'post'")
    return Path(folder) / f"pinlab-quiz-{which}.json"


def save(quiz: Quiz, folder: str | os.PathLike[str] = ".", again: bool = False) -> Path:
    """Write the answers into an existing folder and say where.

    Args:
        again: replace the answers that are there.

    Raises:
        FileNotFoundError: there is no such folder.
        FileExistsError: there are answers already.
    """
    path = sheet_path(quiz.which, folder)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}")
    if path.exists() and not again:
        raise FileExistsError(f"{path} is there already; --again (again=True) replaces it")
    given = {quiz.items[number - 1].id: option for number, option in quiz.answers.items()}
    content = {"form": FORM, "quiz": quiz.which, "answers": dict(sorted(given.items()))}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load(path: str | os.PathLike[str]) -> Quiz:
    """The quiz with the answers of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not such a file, or of another edition of the questions.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # bad JSON, or bytes that are no text
        raise ValueError(f"{path}: no answers of a quiz ({error})") from None
    if not isinstance(content, dict) or content.get("form") != FORM:
        raise ValueError(f"{path}: no answers of a quiz (no 'form': {FORM!r})")
    which, answers = content.get("quiz"), content.get("answers")
    if which not in WHICH or not isinstance(answers, dict):
        raise ValueError(f"{path}: it names no quiz 'pre' or 'post', or has no answers")
    quiz = Quiz(str(which))
    for item, option in answers.items():
        _record(quiz, item, option, path)
    return quiz


def _record(quiz: Quiz, item: str, option: Any, path: str | os.PathLike[str]) -> None:
    numbers = {one.id: number for number, one in enumerate(quiz.items, 1)}
    if item not in numbers or option not in quiz.options(numbers[item]):
        raise ValueError(
            f"{path}: question {item} with the answer {option!r} is not of this edition of the "
            "quiz; score the file with the pinlab that it was made with"
        )
    quiz.answer(numbers[item], LETTERS[quiz.options(numbers[item]).index(option)])
