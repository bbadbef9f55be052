"""Capture: device work that is written down instead of queued, to be replayed later.

A capture belongs to a stream. What the host does meanwhile is done at once, as always; only what
would go into the stream's queue is recorded. A second stream joins by waiting for an event that was
recorded in the capture, and must be joined back by the same means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from pinlab.sim.errors import CaptureError
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue, Ticket

if TYPE_CHECKING:
    from pinlab.sim.blocks import BlockPool
    from pinlab.sim.pinned import PinnedAllocator, PinnedBlock

Clock = dict[StreamQueue, int]  # for each stream, how many of its entries something comes after


class Capture:
    """What is being recorded from `origin` and the streams that joined it.

    Attributes:
        pool: where device memory comes from meanwhile.
        entries: work and marks, in order of recording.
        streams: the origin, then those that joined.
        tenants: for each operation the pinned blocks that it uses, and how often each had been
            dropped when it was recorded.
        broken: why it can no longer succeed; "" while it can.
        over: it has ended; its events are of no use any more.
    """

    def __init__(self, origin: StreamQueue, pool: BlockPool, host: PinnedAllocator) -> None:
        self.pool = pool
        self.host = host
        self.tenants: dict[Operation, list[tuple[PinnedBlock, int]]] = {}
        self.entries: list[Operation] = []
        self.streams = [origin]
        self.generators: dict[Operation, list[torch.Generator]] = {}
        self.drawing: list[torch.Generator] = []  # of the operation that comes next
        self.broken = ""
        self.over = False
        self._after: dict[StreamQueue, Clock] = {origin: {origin: 0}}
        self._tickets: dict[Ticket, Clock] = {}
        origin.capture = self

    def record(self, operation: Operation) -> None:
        """Write an entry down instead of queueing it.

        Raises:
            CaptureError: it cannot be part of a graph.
        """
        if self.over or self.broken:
            raise CaptureError(self.broken or "the event was recorded in a capture that has ended")
        stream, guard = operation.stream, operation.guard
        if operation.kind == "hold":
            self.fail("a hold cannot be part of a capture")
        elif operation.kind == "wait":
            assert isinstance(guard, Ticket)
            self._join(stream, guard)
        elif operation.kind == "record":
            assert isinstance(guard, Ticket)
            guard.capture = self
            self._tickets[guard] = dict(self._after[stream])
        else:
            operation.tracked = False  # no allocator follows what a replay will use
            self.generators[operation], self.drawing = self.drawing, []
            used = (*operation.host_reads, *operation.host_writes)
            blocks = [self.host.find(tensor.data_ptr()) for tensor in used]
            self.tenants[operation] = [(block, block.drops) for block in blocks if block]
            self._after[stream][stream] += 1
        self.entries.append(operation)

    def _join(self, stream: StreamQueue, ticket: Ticket) -> None:
        if ticket.capture is not self:
            what = "in another capture" if ticket.capture else "outside of it"
            self.fail(f"a captured stream cannot wait for an event that was recorded {what}")
        if stream not in self.streams:
            self.streams.append(stream)
            self._after[stream] = {stream: 0}
            stream.capture = self
        for other, count in self._tickets[ticket].items():
            after = self._after[stream]
            after[other] = max(count, after.get(other, 0))

    def fail(self, why: str) -> Any:
        """Something that a capture does not allow: it is spoilt, and the line that did it hears so.

        Raises:
            CaptureError: always.
        """
        self.broken = self.broken or why
        raise CaptureError(why)

    def end(self) -> None:
        """Stop recording.

        Raises:
            CaptureError: it was spoilt, or a stream that joined was not joined back.
        """
        self.abandon()
        if self.broken:
            raise CaptureError(f"the capture failed before: {self.broken}")
        origin, *others = self.streams
        for stream in others:
            if self._after[origin].get(stream, 0) < self._after[stream][stream]:
                raise CaptureError(
                    f"{len(others)} stream(s) joined the capture, and the capturing stream does "
                    "not wait for all of their work: record an event there and wait for it"
                )

    def abandon(self) -> None:
        """Stop recording, whatever state it is in."""
        self.over = True
        for stream in self.streams:
            if stream.capture is self:
                stream.capture = None

    def __repr__(self) -> str:
        state = "broken" if self.broken else "over" if self.over else "going on"
        return f"<capture, {state}: {len(self.entries)} entries, {len(self.streams)} stream(s)>"


def capture_of(operation: Operation) -> Capture | None:
    """The capture that an entry goes into, if any: its stream's, or the one that it joins."""
    if operation.stream.capture is not None:
        return operation.stream.capture
    guard = operation.guard
    if guard is not None and operation.kind == "wait" and isinstance(guard, Ticket):
        return guard.capture
    return None


def refuse_pageable(stream: StreamQueue) -> None:
    """Pageable memory is staged by the host, which a graph cannot repeat.

    Raises:
        CaptureError: if the stream is being captured.
    """
    if stream.capture is not None:
        stream.capture.fail(
            "a copy between the device and pageable host memory cannot be captured: "
            "pin the host tensor, and use non_blocking=True"
        )
