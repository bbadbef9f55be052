"""PIN004: pinned memory is read while a download into it may still be on its way."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.occurrences import HostRead, Occurrence
from pinlab.detect.lint.rules.rule import Rule, finding
from pinlab.detect.lint.rules.source_rewritten import (
    copy_level,
    on_some_path,
    pinned_at,
    when,
)

ID = "PIN004"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a host read of the destination of a download in flight."""
    if not isinstance(occurrence, HostRead):
        return None
    pending = occurrence.pending
    path = occurrence.spot.path
    if pending.buffer.origin == "download":
        where = 'the pinned memory that `.to("cpu", non_blocking=True)` returned'
    else:
        where = f"{pending.buffer.title} ({pinned_at(pending, path)})"
    level = copy_level(pending) if occurrence.certain else Level.NOTE
    message = (
        f"{where} is {occurrence.how}{when(pending, occurrence.spot.line)} before anything waits "
        f"for the download of {pending.place.seen_from(path)}{on_some_path(pending)}: the bytes "
        "may be those from before. Synchronise an event recorded after the copy (or the stream) "
        "first"
    )
    return finding(ID, occurrence.spot, level, message)


RULE = Rule(ID, "download-read-early", "a download is read before it is complete", judge)
