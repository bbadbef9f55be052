"""Predictions of lesson 00, start here."""

from __future__ import annotations

from pinlab.classroom.question import Question

QUESTIONS = (
    Question(
        id="00.1",
        prompt="Five runs of one rerank; only the schedule differs. The five orders are …",
        options=("the same", "different"),
        truth=("the same", "different"),
    ),
    Question(
        id="00.2",
        prompt="Seed 4 once more. Every score is …",
        options=("the same to the last bit", "another one"),
        truth=("the same to the last bit", "another one"),
    ),
    Question(
        id="00.3",
        prompt="Take the scores that are not right. They are off by …",
        options=("rounding", "percents", "orders of magnitude"),
    ),
)
