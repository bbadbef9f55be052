"""The batch with the bug, the repairs that are right, and those that only look it.

Every class differs from the one above it in the lines that matter; ``difference(a, b)`` prints
them. ``VARIANTS`` lists all of them with what each claims.

>>> for variant in list(VARIANTS.values())[:3]:
...     print(variant)
<aliasing (bug): device reader WRONG, late host reader WRONG>
<copy (snapshot): device reader right, late host reader right>
<clone (snapshot): device reader right, late host reader right>
"""

from __future__ import annotations

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.variants.aliasing import AliasingBatch
from pinlab.serving.variants.difference import difference
from pinlab.serving.variants.lookalikes import (
    AsTensorBatch,
    CloneAfterUploadBatch,
    CloneDestinationBatch,
    ContiguousBatch,
    EventTooEarlyBatch,
    GuardTooLateBatch,
    KeepAliveBatch,
    WrongStreamBatch,
)
from pinlab.serving.variants.orderings import (
    DoubleBufferBatch,
    EventWaitBatch,
    NotPinnedBatch,
    SynchronizeBatch,
)
from pinlab.serving.variants.registry import KINDS, VARIANTS, Variant
from pinlab.serving.variants.snapshots import ClonePinBatch, CopyBatch

__all__ = [
    "KINDS",
    "VARIANTS",
    "AliasingBatch",
    "AsTensorBatch",
    "CloneAfterUploadBatch",
    "CloneDestinationBatch",
    "ClonePinBatch",
    "ContiguousBatch",
    "CopyBatch",
    "DoubleBufferBatch",
    "EventTooEarlyBatch",
    "EventWaitBatch",
    "GuardTooLateBatch",
    "InputBatch",
    "KeepAliveBatch",
    "NotPinnedBatch",
    "SynchronizeBatch",
    "Variant",
    "WrongStreamBatch",
    "difference",
]
