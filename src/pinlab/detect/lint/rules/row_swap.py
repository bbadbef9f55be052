"""PIN006: rows exchanged through views of themselves; both end with the same content."""

from __future__ import annotations

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.occurrences import Occurrence, RowSwap
from pinlab.detect.lint.rules.rule import Rule, finding

ID = "PIN006"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for ``m[i], m[j] = m[j], m[i]`` on a tensor or an array of rows."""
    if not isinstance(occurrence, RowSwap):
        return None
    level = Level.ERROR if occurrence.certain else Level.WARNING
    message = (
        f"`{occurrence.text}` does not swap: a row of {occurrence.array.buffer.title} is a view, "
        "so the second value is read after the first was overwritten. Index with a list, which "
        "copies (`m[[i, j]] = m[[j, i]]`), or `.clone()`/`.copy()` the rows on the right"
    )
    return finding(ID, occurrence.spot, level, message)


RULE = Rule(ID, "row-swap", "rows are swapped through views of themselves", judge)
