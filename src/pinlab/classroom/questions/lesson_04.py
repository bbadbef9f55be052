"""Predictions of lesson 04, the batch."""

from __future__ import annotations

from pinlab.classroom.question import Question

ROWS = ("row 0", "row 1", "row 2", "row 3")
ARRAYS = ("numbers, one dimension", "tokens, two dimensions")
POOLS = ("MEAN", "LAST", "CLS")

QUESTIONS = (
    Question(
        id="04.1",
        prompt="Rows a, b, c, d; b is removed, then condense. Whose is each row?",
        options=("a", "b", "c", "d", "nobody"),
        parts=ROWS,
    ),
    Question(
        id="04.2",
        prompt="After condense row 3 is nobody's. What number stands in it?",
        options=("8", "0"),
    ),
    Question(
        id="04.3",
        prompt="x[0], x[1] = x[1], x[0]. What has become of the two rows?",
        options=("swapped", "both the same"),
        parts=ARRAYS,
        betrays_part={ARRAYS[1]: {"swapped": "M2"}},
        truth=("swapped", "both the same"),
    ),
    Question(
        id="04.4",
        prompt="On the device every prompt length is twice what it should be. Whose result moves?",
        options=("moves", "stays"),
        parts=POOLS,
        truth=("moves", "stays"),
    ),
    Question(
        id="04.5",
        prompt="And what does a mean with twice the length look like?",
        options=("the right vector, shorter", "mixed with the next prompt's", "noise"),
        betrays={"noise": "M14"},
    ),
)
