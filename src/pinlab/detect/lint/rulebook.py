"""The list of rules, in the order of their ids."""

from __future__ import annotations

from pinlab.detect.lint.rules import (
    destination_written,
    download_read,
    host_view_escapes,
    naming,
    raw_temporary,
    record_stream,
    row_swap,
    source_rewritten,
    view_escapes,
)
from pinlab.detect.lint.rules.rule import Rule

WALKED = (
    view_escapes.RULE,
    host_view_escapes.RULE,
    source_rewritten.RULE,
    download_read.RULE,
    destination_written.RULE,
    row_swap.RULE,
    record_stream.RULE,
    raw_temporary.RULE,
    naming.RULE,
)
FILE_RULES = (
    Rule("PIN090", "ignore-without-reason", "an ignore comment gives no rule or no reason"),
    Rule("PIN091", "ignore-unused", "an ignore comment silences nothing"),
    Rule("PIN095", "syntax-error", "the file does not parse"),
    Rule("PIN096", "odd-encoding", "the file is not in the encoding it declares"),
    Rule("PIN097", "not-checked", "the file could not be read, or not walked to its end"),
)
RULES = {rule.id: rule for rule in (*WALKED, *FILE_RULES)}
"""Every rule by its id.

>>> RULES["PIN001"]
<Rule PIN001 pinned-view-escapes>
"""
