"""PIN008: a pinned temporary dies while a copy by address may still read it."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.occurrences import Occurrence, RawDrop
from pinlab.detect.lint.rules.rule import Rule, finding

ID = "PIN008"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a temporary that no allocator knows to be in use."""
    if not isinstance(occurrence, RawDrop):
        return None
    pending = occurrence.pending
    message = (
        f"the pinned temporary {pending.buffer.title} is dropped while the copy by address of "
        f"{pending.place.seen_from(occurrence.spot.path)} may still read it: the host allocator "
        "sees no `data_ptr()`, and gives the block to the next tensor. Synchronise before "
        "returning, keep the temporary until an event says so, or copy with `copy_`"
    )
    spot = occurrence.spot
    at_copy = type(spot)(pending.place.line, spot.function, spot.path)
    return finding(ID, at_copy, Level.WARNING, message)


RULE = Rule(ID, "raw-pinned-temporary", "a pinned temporary is dropped under a raw copy", judge)
