"""A question of a lesson: what may be answered, and which belief a wrong answer betrays."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from pinlab.classroom.beliefs import BELIEFS

QUESTION_ID = re.compile(r"(\d\d)\.(\d+)")
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One prediction that a lesson asks for.

    Attributes:
        id: lesson and number, ``"01.3"``.
        prompt: the question in one line.
        options: what may be answered.
        betrays: a wrong option, and the id of the belief that usually stands behind it.
        parts: for a question in several parts, the label of each; the same options for all.
        betrays_part: for a question in parts, part and then wrong option, where it differs.
        truth: the options that True and False mean, if they are among the options.
    """

    id: str
    prompt: str
    options: tuple[str, ...]
    betrays: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    betrays_part: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    truth: tuple[str, str] = ("yes", "no")

    def __post_init__(self) -> None:
        tables = [self.betrays, *self.betrays_part.values()]
        if not QUESTION_ID.fullmatch(self.id):
            raise ValueError(f"question id {self.id!r} is not of the form 'NN.M'")
        if len(set(self.options)) < 2:
            raise ValueError(f"question {self.id} has fewer than two options: {self.options}")
        if not {option for table in tables for option in table} <= set(self.options):
            raise ValueError(f"question {self.id} lists a belief for an answer it does not offer")
        if not {belief for table in tables for belief in table.values()} <= set(BELIEFS):
            raise ValueError(f"question {self.id} names a belief that does not exist")
        if not set(self.betrays_part) <= set(self.parts):
            raise ValueError(f"question {self.id} lists a belief for a part it does not have")

    def option(self, answer: Any) -> str:
        """The option that ``answer`` means; ValueError names the options.

        >>> Question("01.1", "Does it change?", ("yes", "no")).option(True)
        'yes'
        """
        value = answer
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().numpy()
        if isinstance(value, (np.ndarray, np.generic)) and value.size == 1:
            value = value.item()
        if isinstance(value, bool) and set(self.truth) <= set(self.options):
            value = self.truth[0] if value else self.truth[1]
        text = _plain(str(value))
        for option in self.options:
            if text == _plain(option):
                return option
        offered = ", ".join(repr(option) for option in self.options)
        raise ValueError(f"question {self.id} takes one of {offered}; got {answer!r}")

    def belief_behind(self, answer: str, part: str = "") -> str | None:
        """The id of the belief behind a wrong ``answer``, if one is known."""
        return self.betrays_part.get(part, {}).get(answer, self.betrays.get(answer))


def _plain(text: str) -> str:
    """Without what a reader need not type as it stands: case, blanks, the shape of apostrophes."""
    return "".join(text.lower().replace("’", "'").split())


def is_open(answer: Any) -> bool:
    """True for what stands in an unfilled stub: ``...`` or None.

    >>> is_open(...), is_open(0)
    (True, False)
    """
    return answer is None or answer is ...


def find_question(question_id: str) -> Question:
    """A question by id; LookupError lists the ids that the lesson has."""
    found: Question = in_lesson("questions", "QUESTIONS", question_id)
    return found


def in_lesson(folder: str, table: str, wanted: str) -> Any:
    """Entry ``"NN.M"`` of the tuple ``table`` in ``folder/lesson_NN.py``."""
    match = QUESTION_ID.fullmatch(wanted) if isinstance(wanted, str) else None
    if match is None:
        raise LookupError(f"{wanted!r} is not of the form 'NN.M', as in '01.3'")
    module = f"pinlab.classroom.{folder}.lesson_{match[1]}"
    try:
        entries = getattr(importlib.import_module(module), table)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise LookupError(f"lesson {match[1]} has no {folder}") from None
    for entry in entries:
        if entry.id == wanted:
            return entry
    known = ", ".join(entry.id for entry in entries)
    raise LookupError(f"no {wanted} among the {folder} of lesson {match[1]}: {known}")
