"""PIN002: a view of a persistent array that is not pinned leaves the function (a note)."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.buffer import Pinned, Where
from pinlab.detect.lint.flow.occurrences import Escape, Occurrence
from pinlab.detect.lint.rules.rule import Rule, called, finding

ID = "PIN002"


def judge(occurrence: Occurrence) -> Finding | None:
    """A note for an escaping view of ordinary host memory that outlives the call."""
    if not isinstance(occurrence, Escape):
        return None
    array = occurrence.array
    buffer = array.buffer
    if buffer.where is not Where.HOST or buffer.pinned is not Pinned.NO or array.cut is None:
        return None
    if occurrence.lent or occurrence.doubtful or occurrence.own:
        return None
    at = buffer.place.seen_from(occurrence.spot.path)
    message = (
        f"`{array.cut.text}` is a view of {buffer.title} (made at {at}, not pinned); it leaves "
        f"{called(occurrence.spot.function)}: {occurrence.how}. No device reads it late, but a "
        "holder that outlives the step sees later writes; pin the buffer one day and this "
        "becomes PIN001"
    )
    return finding(ID, occurrence.spot, Level.NOTE, message)


RULE = Rule(ID, "host-view-escapes", "a view of a persistent array leaves the function", judge)
