"""Predictions of lesson 06, the fixes."""

from __future__ import annotations

from pinlab.classroom.question import Question

REPAIRS = (
    "clone of the destination",
    "event wait",
    "keep-alive only",
    "contiguous",
    "double buffer",
    "guard too late",
    "not pinned",
    "full synchronise",
)

QUESTIONS = (
    Question(
        id="06.1",
        prompt="The clone of a pinned slice: is it pinned?",
        options=("pinned", "pageable"),
        truth=("pinned", "pageable"),
    ),
    Question(
        id="06.2",
        prompt="Is the device's reader right in every schedule?",
        options=("right", "wrong"),
        parts=REPAIRS,
        betrays_part={
            REPAIRS[0]: {"right": "M10"},
            REPAIRS[2]: {"right": "M12"},
            REPAIRS[3]: {"right": "M2"},
            REPAIRS[5]: {"right": "M11"},
        },
        truth=("right", "wrong"),
    ),
    Question(
        id="06.3",
        prompt="An event wait keeps the view. Is a host reader right that asks after its step?",
        options=("right", "wrong"),
        truth=("right", "wrong"),
    ),
)
