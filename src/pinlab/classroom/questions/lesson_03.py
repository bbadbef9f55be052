"""Predictions of lesson 03, non_blocking."""

from __future__ import annotations

from pinlab.classroom.question import Question

COPIES = (
    "pageable → device",
    "pinned → device",
    "device → pageable",
    "device → pinned",
    'device.to("cpu")',
)
GUARDS = (
    "done.synchronize()",
    "gpu.synchronize()",
    "done.wait()",
    "there.add_(1)",
    "gpu.Event().synchronize()",
)

QUESTIONS = (
    Question(
        id="03.1",
        prompt="non_blocking=True, and the stream is held. Does the call return before the copy?",
        options=("yes", "no"),
        parts=COPIES,
        betrays_part={COPIES[2]: {"yes": "M5"}},
    ),
    Question(
        id="03.2",
        prompt="non_blocking=True. When are the host's bytes read or written?",
        options=("in the call", "later"),
        parts=COPIES,
        betrays_part={
            COPIES[0]: {"later": "M5"},
            COPIES[1]: {"in the call": "M4"},
            COPIES[2]: {"later": "M5"},
            COPIES[3]: {"in the call": "M3"},
            COPIES[4]: {"in the call": "M3"},
        },
        truth=("later", "in the call"),
    ),
    Question(
        id="03.3",
        prompt="Three steps write a pinned row and upload it, one after the other. What arrives?",
        options=("[0, 1, 2]", "[2, 2, 2]"),
        betrays={"[0, 1, 2]": "M7"},
    ),
    Question(
        id="03.4",
        prompt="The download into pinned memory was queued, the call returned. What is in out?",
        options=("the result", "what was there before"),
        betrays={"the result": "M3"},
        truth=("the result", "what was there before"),
    ),
    Question(
        id="03.5",
        prompt="A pinned row was uploaded, then came this line. Is it safe to write the row now?",
        options=("safe", "unsafe"),
        parts=GUARDS,
        betrays_part={
            "done.wait()": {"safe": "M7"},
            "there.add_(1)": {"safe": "M7"},
            "gpu.Event().synchronize()": {"safe": "M11"},
        },
        truth=("safe", "unsafe"),
    ),
)
