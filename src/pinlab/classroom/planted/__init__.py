"""Five planted bugs and six tests, for finding out what a test can see (lesson 07).

>>> for bug in PLANTED.values():
...     print(bug)
<aliasing, planted in InputBatch>
<wrong slice, planted in InputBatch>
<clone too late, planted in InputBatch>
<wrong event, planted in ReusedSnapshotBatch>
<off by one, planted in InputBatch>
"""

from __future__ import annotations

from pinlab.classroom.planted.bugs import (
    PLANTED,
    OffByOneBatch,
    Planted,
    ReusedSnapshotBatch,
    WrongEventBatch,
    WrongSliceBatch,
)
from pinlab.classroom.planted.judge import is_red, squares, tried
from pinlab.classroom.planted.suite import SUITE

__all__ = [
    "PLANTED",
    "SUITE",
    "OffByOneBatch",
    "Planted",
    "ReusedSnapshotBatch",
    "WrongEventBatch",
    "WrongSliceBatch",
    "is_red",
    "squares",
    "tried",
]
