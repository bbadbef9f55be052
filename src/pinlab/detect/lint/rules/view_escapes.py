"""PIN001: a view of a pinned buffer that outlives the call leaves the function."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.buffer import Pinned
from pinlab.detect.lint.flow.occurrences import Escape, Occurrence
from pinlab.detect.lint.rules.rule import Rule, called, finding

ID = "PIN001"
REPAIR = {
    "tensor": "take a snapshot: `.clone()` of the tensor slice, or `.copy()` before `from_numpy`",
    "array": "take a snapshot: `.copy()` of the slice",
    "memory": "take a snapshot: `bytes(…)`, or `.copy()` of the array",
}


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for an escaping view of pinned, or perhaps pinned, memory."""
    if not isinstance(occurrence, Escape):
        return None
    array = occurrence.array
    buffer = array.buffer
    if not buffer.maybe_pinned or buffer.origin == "download":
        return None
    level = _level(occurrence)
    at = buffer.place.seen_from(occurrence.spot.path)
    pinned = f"pinned at {at}" if buffer.pinned is Pinned.YES else f"pinned at {at} if asked to"
    if buffer.origin == "name":
        pinned = "pinned, by its name"
    what = (
        f"`{array.cut.text}` is a view of the buffer {buffer.title} ({pinned})"
        if array.cut is not None
        else f"the buffer {buffer.title} itself ({pinned}) is handed out"
    )
    message = (
        f"{what}; it leaves {called(occurrence.spot.function)}: {occurrence.how}. Later writes to "
        f"the buffer show through, and a non_blocking upload reads them late; "
        f"{REPAIR[array.face]}"
    )
    return finding(ID, occurrence.spot, level, message)


def _level(escape: Escape) -> Level:
    array = escape.array
    quiet = array.cut is None or escape.guarded or escape.lent or escape.doubtful
    if quiet or array.slot is not None:
        return Level.NOTE
    return Level.ERROR if array.buffer.pinned is Pinned.YES else Level.WARNING


RULE = Rule(ID, "pinned-view-escapes", "a view of a pinned buffer leaves the function", judge)
