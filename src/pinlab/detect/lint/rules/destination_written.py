"""PIN005: the host writes into the destination of a download that is still in flight."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding
from pinlab.detect.lint.flow.occurrences import HostWrite, Occurrence
from pinlab.detect.lint.rules.rule import Rule, finding
from pinlab.detect.lint.rules.source_rewritten import (
    copy_level,
    on_some_path,
    pinned_at,
    when,
)

ID = "PIN005"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a host write that the arriving bytes will overwrite."""
    if not isinstance(occurrence, HostWrite) or occurrence.pending.up:
        return None
    pending = occurrence.pending
    path = occurrence.spot.path
    message = (
        f"{pending.buffer.title} ({pinned_at(pending, path)}) is {occurrence.how}"
        f"{when(pending, occurrence.spot.line)} while the download of "
        f"{pending.place.seen_from(path)} may still be writing it{on_some_path(pending)}: the "
        "bytes that arrive destroy the host's. Download into a buffer that nobody else writes, "
        "wait, then copy"
    )
    return finding(ID, occurrence.spot, copy_level(pending), message)


RULE = Rule(ID, "destination-written", "the host writes where a download is landing", judge)
