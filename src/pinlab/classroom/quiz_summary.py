"""What a class answered: counts by belief and by question over many files, no names."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.quiz import Quiz
from pinlab.classroom.quiz_items import ITEMS
from pinlab.classroom.quiz_sheet import WHICH, load

FEW = 5  # quizzes of a kind under which a count may point at a person
WIDTH = 58  # characters for what a line is about


def sheets_of(paths: Iterable[str | os.PathLike[str]]) -> list[Quiz]:
    """The quizzes of some files; a folder stands for all its ``*.json``, its folders' too.

    Raises:
        OSError, ValueError: naming the file that cannot be read.
        FileNotFoundError: a path is not there, or a folder has none.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise FileNotFoundError(f"no .json file in {path}")
        found += inside
    if len({path.resolve() for path in found}) < len(found):
        raise ValueError("a file is named twice, alone or with its folder")
    return [load(path) for path in found]


def summary(quizzes: Sequence[Quiz]) -> str:
    """Two columns, before and after: people by belief, people by question.

    A person counts once for a belief, however many answers betray it.

    >>> quiz = Quiz("pre")
    >>> quiz.answer(1, "a")
    >>> print("\\n".join(summary([quiz]).splitlines()[:4]))
    1 pre-quiz, 0 post-quizzes
    With fewer than 5 of a kind a count can point at a person: keep it to yourself.
    <BLANKLINE>
    at least one answer betrays the belief                             pre      post
    """
    if not quizzes:
        raise ValueError("no quiz to sum up")
    groups = {which: [quiz for quiz in quizzes if quiz.which == which] for which in WHICH}
    lines = [", ".join(_counted(len(group), which) for which, group in groups.items())]
    if any(0 < len(group) < FEW for group in groups.values()):
        lines.append(
            f"With fewer than {FEW} of a kind a count can point at a person: keep it to yourself."
        )
    lines += ["", _line("at least one answer betrays the belief", WHICH)]
    for belief, about in BELIEFS.items():
        counts = [_of(sum(belief in q.beliefs() for q in g), g) for g in groups.values()]
        lines.append(_line(f"{belief:<4}{about.wrong}", counts))
    lines += ["", _line("answered rightly", WHICH)]
    for item in ITEMS:
        counts = [_of(sum(_is_right(q, item.id) for q in g), g) for g in groups.values()]
        lines.append(_line(f"{item.id:<4}{item.stem}", counts))
    return "\n".join(lines)


def _is_right(quiz: Quiz, item: str) -> bool:
    return item in {quiz.items[number - 1].id for number in quiz.right()}


def _counted(count: int, which: str) -> str:
    return f"{count} {which}-quiz" + "zes" * (count != 1)


def _of(count: int, group: Sequence[Quiz]) -> str:
    return f"{count} of {len(group)}" if group else "–"


def _line(about: str, columns: Iterable[str]) -> str:
    short = textwrap.shorten(about[4:], WIDTH - 4, placeholder=" …")
    named = about[:4] + short if about[:1] in "MQ" and about[1:2].isdigit() else about
    return f"{named:<{WIDTH}}" + "".join(f"{column:>12}" for column in columns)
