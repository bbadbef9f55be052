"""The questions and passages that the rerank experiment ranks.

The text is in `data/corpus.toml`, made to be read and edited there. This file reads it and
refuses what the experiment cannot use. It knows nothing of models, tokens or scores.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

GRADES = (0, 1, 2, 3)


@dataclass(frozen=True)
class Passage:
    """One passage and how well it answers its question, from 0 (does not help) to 3 (answers)."""

    text: str
    relevance: int


@dataclass(frozen=True)
class Question:
    """A question with the passages that are to be ranked for it.

    >>> question = load_corpus()[0]
    >>> question
    Question 'undo-commit': 'How do I undo my last git commit but keep the changes?', 12 passages
    >>> sorted(passage.relevance for passage in question.passages)
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3]
    """

    id: str
    text: str
    passages: tuple[Passage, ...]

    def __repr__(self) -> str:
        return f"Question {self.id!r}: {self.text!r}, {len(self.passages)} passages"


def load_corpus() -> tuple[Question, ...]:
    """Return the corpus that ships with the package: 8 questions, 12 passages each.

    >>> [question.id for question in load_corpus()][:3]
    ['undo-commit', 'slow-wifi', 'float-sum']
    """
    path = files(__package__) / "data" / "corpus.toml"
    return parse_corpus(path.read_text(encoding="utf-8"))


def parse_corpus(toml_text: str) -> tuple[Question, ...]:
    """Read a corpus from TOML text.

    Raises `ValueError` for text that is not TOML, a missing or empty `id` or `text`, a relevance
    other than 0, 1, 2 or 3, two questions of one id, two equal passages under one question, and
    questions with different numbers of passages (the relevance must form a matrix).

    >>> text = '''
    ... [[query]]
    ... id = "boil"
    ... text = "At what temperature does water boil?"
    ... [[query.passage]]
    ... relevance = 3
    ... text = "At sea level, water boils at 100 degrees Celsius."
    ... '''
    >>> parse_corpus(text)
    (Question 'boil': 'At what temperature does water boil?', 1 passages,)
    """
    try:
        entries = tomllib.loads(toml_text).get("query", [])
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the corpus is not valid TOML: {error}") from error
    questions = tuple(_question(entry, number) for number, entry in enumerate(entries))
    if not questions:
        raise ValueError("the corpus has no [[query]] entry")
    _check_unique([question.id for question in questions], "question id", "the corpus")
    counts = {question.id: len(question.passages) for question in questions}
    if len(set(counts.values())) > 1:
        raise ValueError(f"every question needs the same number of passages, got {counts}")
    return questions


def texts(questions: Iterable[Question]) -> tuple[str, ...]:
    """Return all texts in the order of the stored tables: a question, its passages, the next.

    >>> len(texts(load_corpus()))  # 8 * (1 + 12)
    104
    """
    return tuple(
        text
        for question in questions
        for text in (question.text, *(passage.text for passage in question.passages))
    )


def texts_digest(questions: Iterable[Question]) -> str:
    """Return the SHA-256 of all texts in order: it tells whether stored states belong to them.

    >>> len(texts_digest(load_corpus()))
    64
    """
    return hashlib.sha256("\0".join(texts(questions)).encode()).hexdigest()


def _question(entry: dict[str, Any], number: int) -> Question:
    name = _text(entry, "id", f"question number {number}")
    where = f"question {name!r}"
    passages = tuple(
        _passage(passage, f"passage number {index} of {where}")
        for index, passage in enumerate(entry.get("passage", []))
    )
    if not passages:
        raise ValueError(f"{where} has no passages")
    _check_unique([passage.text for passage in passages], "passage", where)
    return Question(name, _text(entry, "text", where), passages)


def _passage(entry: dict[str, Any], where: str) -> Passage:
    relevance = entry.get("relevance")
    # TOML's true would pass as the integer 1.
    if type(relevance) is not int or relevance not in GRADES:
        raise ValueError(f"{where}: relevance must be one of {GRADES}, got {relevance!r}")
    return Passage(_text(entry, "text", where), relevance)


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where}: {key!r} must be a non-empty string, got {value!r}")
    return value


def _check_unique(values: list[str], what: str, where: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{what} {value!r} appears {values.count(value)} times in {where}")
