"""PIN007: ``record_stream`` with the stream that the tensor was made on."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.occurrences import Occurrence, OwnStreamRecord
from pinlab.detect.lint.rules.rule import Rule, finding

ID = "PIN007"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a record that tells the allocator nothing."""
    if not isinstance(occurrence, OwnStreamRecord):
        return None
    message = (
        f"`{occurrence.text}` records {occurrence.array.buffer.title} on the stream it was made "
        "on: inside the `with` block that stream is the current one, so the allocator learns "
        "nothing and may reuse the block while another stream reads it. Fetch the consumer's "
        "stream before entering the block"
    )
    return finding(ID, occurrence.spot, Level.ERROR, message)


RULE = Rule(ID, "record-own-stream", "`record_stream` names the tensor's own stream", judge)
