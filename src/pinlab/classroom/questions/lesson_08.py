"""Predictions of lesson 08, designing it out."""

from __future__ import annotations

from pinlab.classroom.question import Question

WAYS = ("face[1] = 40", "memoryview(face)", "torch.from_numpy(face)", "an earlier view")
PLANTED = ("view handed out", "write in a hook", "early read")

QUESTIONS = (
    Question(
        id="08.1",
        prompt="face.flags.writeable = False. What does it stop?",
        options=("stopped", "goes through"),
        parts=WAYS,
        betrays_part={WAYS[3]: {"stopped": "M2"}},
        truth=("stopped", "goes through"),
    ),
    Question(
        id="08.2",
        prompt="upload() records an event, and no write waits for it. Is the result always right?",
        options=("right", "wrong"),
        betrays={"right": "M7"},
        truth=("right", "wrong"),
    ),
    Question(
        id="08.3",
        prompt="InFlightBuffer with direct=True: which attacker gets through?",
        options=("none", "hasty", "hoarder", "twice"),
        betrays={"none": "M2"},
    ),
    Question(
        id="08.4",
        prompt="Four steps through a DoubleBuffer: how often does the host wait?",
        options=("0", "2", "3", "4"),
        betrays={"0": "M7"},
    ),
    Question(
        id="08.5",
        prompt="Who finds it: the lint, the tracker, or both?",
        options=("lint", "tracker", "both"),
        parts=PLANTED,
    ),
)
