"""Predictions of lesson 09, the casebook."""

from __future__ import annotations

from pinlab.casebook.guards import GUARDS
from pinlab.casebook.kinds import KINDS
from pinlab.classroom.question import Question

NO_BUG = "no bug"
KIND = (*KINDS, NO_BUG)
PROMPT = "Which kind, or no bug?"

RUNS = ("eager", "lazy", "lazy, reversed")
TOOLS = ("one eager run", "one lazy run", "hazards()", "lint", "explore")


def _cards(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"card {number}" for number in range(first, last + 1))


QUESTIONS = (
    Question(
        id="09.1",
        prompt=PROMPT,
        options=KIND,
        parts=_cards(1, 5),
        betrays_part={
            "card 1": {NO_BUG: "M2"},
            "card 2": {NO_BUG: "M3"},
            "card 3": {"B": "M5", "C": "M5"},
            "card 4": {NO_BUG: "M3"},
            "card 5": {NO_BUG: "M11"},
        },
    ),
    Question(
        id="09.2",
        prompt=PROMPT,
        options=KIND,
        parts=_cards(6, 10),
        betrays_part={
            "card 6": {NO_BUG: "M7"},
            "card 8": {NO_BUG: "M13"},
            "card 9": {NO_BUG: "M11"},
        },
    ),
    Question(
        id="09.3",
        prompt=PROMPT,
        options=KIND,
        parts=_cards(11, 16),
        betrays_part={
            "card 11": {NO_BUG: "M13"},
            "card 13": {NO_BUG: "M11"},
            "card 14": {NO_BUG: "M4"},
            "card 15": {NO_BUG: "M2"},
            "card 16": {NO_BUG: "M11"},
        },
    ),
    Question(
        id="09.4",
        prompt="Card 9 in one run of each mode: right or wrong?",
        options=("right", "wrong"),
        parts=RUNS,
        truth=("right", "wrong"),
    ),
    Question(
        id="09.5",
        prompt="How many of the twelve bugs does each of these show?",
        options=("all 12", "7 to 11", "1 to 6", "none"),
        parts=TOOLS,
        betrays_part={"one eager run": {"all 12": "M8", "7 to 11": "M8"}},
    ),
    Question(
        id="09.6",
        prompt="Where was the guard missing most often?",
        options=tuple(GUARDS),
    ),
)
