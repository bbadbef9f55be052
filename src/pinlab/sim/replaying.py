"""Queueing captured work once more: the same work on the same addresses, in the same order."""

from __future__ import annotations

import torch

from pinlab.sim.accelerator import Accelerator
from pinlab.sim.capture import Capture
from pinlab.sim.generator import next_seed
from pinlab.sim.operation import Operation, Work
from pinlab.sim.queue import StreamQueue, Ticket


def queue_again(
    device: Accelerator, capture: Capture, lanes: dict[StreamQueue, StreamQueue]
) -> None:
    """Queue all entries of a capture.

    Args:
        lanes: for each stream of the capture, the stream that now takes its entries.
    """
    tickets: dict[Ticket, Ticket] = {}
    for entry in capture.entries:
        lane, guard = lanes[entry.stream], entry.guard
        if isinstance(guard, Ticket):
            device.submit(mark(entry.kind, lane, tickets.setdefault(guard, Ticket(lane))))
        else:
            device.submit(_again(capture, entry, lane))


def mark(kind: str, queue: StreamQueue, ticket: Ticket) -> Operation:
    """An event's recording on a stream, or a stream's wait for it."""
    entry = Operation(kind, kind, queue, None)
    entry.guard = ticket
    return entry


def _again(capture: Capture, entry: Operation, lane: StreamQueue) -> Operation:
    """A captured operation, to be queued once more: the same work on the same addresses."""
    assert entry.work is not None
    generators = capture.generators[entry]
    again = Operation(
        entry.name,
        entry.kind,
        lane,
        _reseeded(entry.work, generators) if generators else entry.work,
        entry.device_reads,
        entry.device_writes,
        entry.host_reads,
        entry.host_writes,
        entry.nbytes,
    )
    again.pieces = entry.pieces
    again.stale = any(block.drops != drops for block, drops in capture.tenants[entry])
    return again


def _reseeded(work: Work, generators: list[torch.Generator]) -> Work:
    """Each replay draws anew, from the device's generator as it is when the replay is queued."""
    seeds = [next_seed() for _ in generators]

    def again() -> None:
        for generator, seed in zip(generators, seeds, strict=True):
            generator.manual_seed(seed)
        work()

    return again
