"""Predictions of lesson 07, tests that catch it."""

from __future__ import annotations

from pinlab.classroom.question import Question

BUGS = ("aliasing", "wrong slice", "wrong event", "off by one")
TESTS = ("runs and finishes", "score in range", "5 runs equal", "metadata stays")

FLAKY, MOVES = "lengths right today", "metadata stays"
VIEW, PIN, INNOCENT = "the one with the view", "the one that pins", "another one"

QUESTIONS = (
    Question(
        id="07.1",
        prompt="The test never starts the device. Is it red on the batch with the alias?",
        options=("red", "green"),
        truth=("red", "green"),
    ),
    Question(
        id="07.2",
        prompt="Which test notices which bug?",
        options=("caught", "missed", "luck"),
        parts=tuple(f"{bug}: {test}" for bug in BUGS for test in TESTS),
        betrays_part={
            "aliasing: runs and finishes": {"caught": "M14", "luck": "M14"},
            "aliasing: score in range": {"caught": "M14", "luck": "M14"},
            "aliasing: 5 runs equal": {"missed": "M9", "caught": "M8"},
            "aliasing: metadata stays": {"missed": "M2"},
            "wrong event: runs and finishes": {"caught": "M14", "luck": "M14"},
            "wrong event: score in range": {"caught": "M14", "luck": "M14"},
            "wrong event: 5 runs equal": {"missed": "M11", "caught": "M8"},
        },
    ),
    Question(
        id="07.3",
        prompt="One run in five is wrong. How often are five runs in a row clean?",
        options=("1 %", "5 %", "33 %", "80 %"),
        betrays={"1 %": "M8", "5 %": "M8"},
    ),
    Question(
        id="07.4",
        prompt="Which commit does git bisect name?",
        options=(VIEW, PIN, INNOCENT),
        parts=(FLAKY, MOVES),
        betrays_part={FLAKY: {PIN: "M8"}},
    ),
)
