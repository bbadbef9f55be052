"""PIN003: a pinned buffer is rewritten while an upload from it may still be reading."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.buffer import Pinned
from pinlab.detect.lint.flow.occurrences import HostWrite, Occurrence
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.rules.rule import Rule, finding

ID = "PIN003"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a host write to the source of an upload in flight."""
    if not isinstance(occurrence, HostWrite) or not occurrence.pending.up:
        return None
    pending = occurrence.pending
    buffer = pending.buffer
    message = (
        f"{buffer.title} ({pinned_at(pending, occurrence.spot.path)}) is {occurrence.how}"
        f"{when(pending, occurrence.spot.line)}, and the upload of "
        f"{pending.place.seen_from(occurrence.spot.path)} may still be reading it: nothing waits "
        f"in between{on_some_path(pending)}. Wait for an event recorded after the copy, upload a "
        "copy of its own (`.clone().pin_memory()`), or use two buffers in turn"
    )
    return finding(ID, occurrence.spot, copy_level(pending), message)


def copy_level(pending: Pending) -> Level:
    """How sure a finding about one copy in flight is."""
    if pending.waited:
        return Level.NOTE
    sure = pending.sure and pending.buffer.pinned is Pinned.YES and not pending.carried
    return Level.ERROR if sure else Level.WARNING


def pinned_at(pending: Pending, path: str) -> str:
    """Where the buffer was pinned, in words."""
    if pending.buffer.origin == "name":
        return "pinned, by its name"
    at = pending.buffer.place.seen_from(path)
    return f"pinned at {at}" + ("" if pending.buffer.pinned is Pinned.YES else " if asked to")


def when(pending: Pending, line: int) -> str:
    """How the host comes to touch memory of a copy that was queued further down."""
    if pending.carried:
        return f" {pending.carried}"
    return " on the next pass of the loop" if line <= pending.place.line else ""


def on_some_path(pending: Pending) -> str:
    return " on every path" if pending.waited else ""


RULE = Rule(ID, "source-rewritten", "a pinned buffer is rewritten while being uploaded", judge)
