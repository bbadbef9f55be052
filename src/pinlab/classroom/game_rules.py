"""What is played, and which keys there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.game_program import Program

KEYS = {
    "h": "host step",
    "o": "host step over a call",
    "d": "device step, stream 0",
    "1-9": "device step, that stream",
    "x": "expand copies into parts",
    "u": "undo",
    "r": "reset",
    "c": "certify: run every schedule",
    "n": "the repaired program, and back",
    "?": "hint",
}

REPAIRED = "This is the repaired program. Try to break it; key c asks for the certificate."


@dataclass(frozen=True)
class Rules:
    """What is played.

    Attributes:
        program, goal: the program, and what to bring about.
        repaired: a program to certify afterwards, if there is one.
        pieces: into how many parts `x` tears a copy.
        trace: more functions or modules whose lines count as host steps.
        title, before, after, hint: what a level says.
    """

    program: Program
    goal: Goal
    repaired: Program | None = None
    pieces: int = 2
    trace: tuple[Any, ...] = ()
    title: str = ""
    before: str = ""
    after: str = ""
    hint: str = ""


def is_key(key: str) -> bool:
    """Whether the game knows a key.

    >>> is_key("h"), is_key("7"), is_key("q")
    (True, True, False)
    """
    return key in KEYS or (len(key) == 1 and key.isascii() and key.isdigit())
