"""All batches side by side: what each one claims, so that tests and lessons can hold it to that."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.variants.aliasing import AliasingBatch
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
from pinlab.serving.variants.snapshots import ClonePinBatch, CopyBatch

KINDS = ("bug", "snapshot", "ordering", "look-alike")


@dataclass(frozen=True)
class Variant:
    """One way to hand out the lengths of the prompts.

    Attributes:
        name: what lessons and tests call it.
        batch: the class.
        kind: one of ``KINDS``.
        device_reader: whether the device always reads the step's own lengths.
        late_host_reader: whether a host reader does that keeps the metadata beyond its step.
        why: one sentence.
    """

    name: str
    batch: type[InputBatch]
    kind: str
    device_reader: bool
    late_host_reader: bool
    why: str

    def __repr__(self) -> str:
        device = "right" if self.device_reader else "WRONG"
        late = "right" if self.late_host_reader else "WRONG"
        return f"<{self.name} ({self.kind}): device reader {device}, late host reader {late}>"


def _bug(name: str, batch: type[InputBatch], why: str) -> Variant:
    return Variant(name, batch, "bug", False, False, why)


def _snapshot(name: str, batch: type[InputBatch], why: str) -> Variant:
    return Variant(name, batch, "snapshot", True, True, why)


def _ordering(name: str, batch: type[InputBatch], why: str) -> Variant:
    return Variant(name, batch, "ordering", True, False, why)


def _lookalike(name: str, batch: type[InputBatch], why: str, late_host: bool = False) -> Variant:
    return Variant(name, batch, "look-alike", False, late_host, why)


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        _bug(
            "aliasing",
            AliasingBatch,
            "The upload reads pinned rows that the next step rewrites without waiting.",
        ),
        _snapshot("copy", CopyBatch, "The metadata has memory that nobody else writes to."),
        _snapshot("clone", InputBatch, "The same snapshot, taken of the tensor."),
        _snapshot(
            "clone and pin",
            ClonePinBatch,
            "A snapshot that is read late, and that nobody writes to in the meantime.",
        ),
        _ordering(
            "event wait",
            EventWaitBatch,
            "The host rewrites rows only after the event behind the upload was reached.",
        ),
        _ordering(
            "double buffer",
            DoubleBufferBatch,
            "The next step writes to other rows; these come round again two steps later.",
        ),
        _ordering(
            "not pinned",
            NotPinnedBatch,
            "From pageable memory the runtime takes the bytes before the call returns.",
        ),
        _ordering(
            "full synchronise",
            SynchronizeBatch,
            "Before rows are rewritten, nothing is left in any queue.",
        ),
        _lookalike(
            "clone after the upload",
            CloneAfterUploadBatch,
            "The queued upload keeps reading the rows; only later host readers get the clone.",
            late_host=True,
        ),
        _lookalike(
            "clone of the destination",
            CloneDestinationBatch,
            "It clones on the device what the late upload has already got wrong.",
        ),
        _lookalike(
            "event before the copy",
            EventTooEarlyBatch,
            "The upload stands behind the event that the host waits for.",
        ),
        _lookalike(
            "guard too late",
            GuardTooLateBatch,
            "The host waits for the right event, after it has rewritten the rows.",
        ),
        _lookalike(
            "wrong stream", WrongStreamBatch, "The host waits for a stream that does not upload."
        ),
        _lookalike(
            "keep-alive only",
            KeepAliveBatch,
            "The rows were never freed; a reference does not stop a write.",
        ),
        _lookalike(
            "contiguous",
            ContiguousBatch,
            "The slice is contiguous already, so it is returned as it is.",
        ),
        _lookalike(
            "as_tensor", AsTensorBatch, "The tensor shares the array's memory, as the view did."
        ),
    )
}
