"""Predictions of lesson 05, the race."""

from __future__ import annotations

from pinlab.classroom.question import Question

QUESTIONS = (
    Question(
        id="05.1",
        prompt="The device reads the lengths late, when the host asks for the means. They are …",
        options=("right", "noise or NaN", "plausible and wrong"),
        betrays={"right": "M3", "noise or NaN": "M14"},
    ),
    Question(
        id="05.2",
        prompt="How many different results are there over all schedules?",
        options=("1", "2", "3", "more"),
        betrays={"1": "M9", "2": "M8"},
    ),
    Question(
        id="05.3",
        prompt="The same view, in rows that are not pinned. Is it right in every schedule?",
        options=("on every platform", "on CUDA's rules only", "no"),
        betrays={"on every platform": "M13", "no": "M5"},
    ),
    Question(
        id="05.4",
        prompt="Which poolings can this race spoil?",
        options=("MEAN", "MEAN and LAST", "all three"),
    ),
)
