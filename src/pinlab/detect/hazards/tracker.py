"""Follows the device and remembers what no wait has covered yet.

Luck plays no part: an operation counts as in flight until the host has waited for it, or a query
answered true, even if it ran long ago (in `eager` mode everything runs at once).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import torch

from pinlab.detect.hazards.hazard import Between, Findings, Hazard, Kind
from pinlab.detect.hazards.names import allocated_at, buffer_of
from pinlab.detect.hazards.order import Order
from pinlab.detect.hazards.work import Flight, Part, Work
from pinlab.sim import Place
from pinlab.sim.accelerator import Accelerator, Target
from pinlab.sim.blocks import Block
from pinlab.sim.extent import Runs, overlap
from pinlab.sim.operation import Operation
from pinlab.sim.pinned import PinnedBlock
from pinlab.sim.place import caller_place
from pinlab.sim.queue import StreamQueue
from pinlab.sim.watch import host_writes, running_writes

REMEMBERED = 2_000  # device operations whose order with later ones is checked


class Tracker:
    """An observer of the device. `findings` grows as hazards are noticed."""

    def __init__(self, device: Accelerator) -> None:
        self.device = device
        self.order = Order()
        self.findings = Findings()
        self.flights: list[Flight] = []
        self.work: list[Work] = []
        self.place: Place = caller_place()
        self.thread = threading.get_ident()
        self.exact = False  # whether `look` is called after every line
        self._said: set[tuple[Kind, StreamQueue, int, str]] = set()

    # -- what the device says; under its lock -----------------------------------------------------

    def submitted(self, operation: Operation) -> None:
        self.look()
        self.order.submitted(operation)
        if operation.is_mark:
            return
        work = Work(operation)
        self._check_streams(work)
        self.work = [*self.work[-REMEMBERED:], work]
        if operation.stale:
            tensor = (*operation.host_reads, *operation.host_writes)[0]
            self._report(Kind.STALE_REPLAY, operation, tensor, operation.queued_at)
        if not operation.waited and (operation.host_reads or operation.host_writes):
            self.flights.append(Flight(operation))

    def completed(self, operation: Operation) -> None:
        """What the device wrote is no write of the host's."""
        written = host_writes(operation)
        if threading.get_ident() == self.thread:  # a stream's own thread knows no host line
            self.look(but_not=written)
        for flight in self.flights:
            flight.refresh(written)

    def waited(self, targets: Iterable[Target]) -> None:
        self.look()
        self.order.waited(targets)
        self.flights = [
            f for f in self.flights if f.captured or not self.order.is_over(f.operation)
        ]
        self.work = [w for w in self.work if not self.order.is_over(w.operation)]

    def captured(self, operation: Operation) -> None:
        """It was written down, not queued; until the capture ends, the host should not edit it."""
        self.look()
        if operation.host_reads:
            self.flights.append(Flight(operation, captured=True))

    def capture_ended(self, operations: list[Operation]) -> None:
        """From now on the host may refill the sources: that is what replays are for."""
        self.look()
        self.flights = [f for f in self.flights if f.operation not in operations]

    # -- the host's accesses ----------------------------------------------------------------------

    def look(self, at: Place | None = None, but_not: Runs = ()) -> None:
        """Compare the bytes of everything in flight; writes happened since the last look."""
        now = at if at is not None else self.place if self.exact else caller_place()
        where: Place | Between = now if self.exact or at else Between(self.place, now)
        with self.device.lock:  # between a download's end and `completed` its bytes look like ours
            self._compare(where, but_not)
        if not self.exact:
            self.place = now

    def _compare(self, where: Place | Between, but_not: Runs) -> None:
        if not self.flights:
            return
        skip = but_not + running_writes(self.device)
        for flight in self.flights:
            for part, before, after in flight.news(skip):
                self._host(flight, part, part.write_kind, where, before, after)

    def wrote(self, runs: Runs, at: Place) -> None:
        """The host wrote these bytes through torch, on this line; equal bytes count too."""
        for flight in self.flights:
            touched = flight.overlapping(runs)
            changes = flight.news(()) if touched else []
            changed = [part for part, _, _ in changes]
            changes += [(part, b"", b"") for part in touched if part not in changed]
            for part, before, after in changes:
                self._host(flight, part, part.write_kind, at, before, after)

    def read(self, runs: Runs, at: Place) -> None:
        """The host reads these bytes, on this line."""
        for flight in self.flights:
            for part in flight.overlapping(overlap(flight.written, runs)):
                if part.write_kind is Kind.DESTINATION_WRITTEN:
                    self._host(flight, part, Kind.DESTINATION_READ, at)

    def _host(
        self,
        flight: Flight,
        part: Part,
        kind: Kind,
        where: Place | Between,
        before: bytes = b"",
        after: bytes = b"",
    ) -> None:
        self._report(kind, flight.operation, part.tensor, where, before, after)

    # -- lifetimes --------------------------------------------------------------------------------

    def dropped(self, block: PinnedBlock) -> None:
        """The last tensor of a pinned block is gone."""
        self._gone(block, Kind.FREED)

    def taken(self, block: PinnedBlock) -> None:
        """A pinned block is handed out again: no flight over it counts any more."""
        self._gone(block, Kind.REUSED)
        for flight in self.flights:
            flight.parts = [part for part in flight.parts if part.block is not block]
        self.flights = [flight for flight in self.flights if flight.parts]

    def _gone(self, block: PinnedBlock, kind: Kind) -> None:
        for flight in self.flights:
            for part in flight.over(block):
                if not flight.operation.tracked:
                    self._host(flight, part, kind, caller_place())

    def recycled(self, block: Block) -> None:
        """A device block is handed out again: note who may still use it."""
        for work in self.work:
            if work.touches(block.memory) and not self.order.precedes_next(
                work.operation, block.stream
            ):
                work.evicted = [*work.evicted, block]

    def awaited(self, block: Block) -> None:
        """The allocator itself has waited for the streams on which the block was recorded."""
        self.work = [work for work in self.work if not work.touches(block.memory)]

    # -- device against device --------------------------------------------------------------------

    def _check_streams(self, later: Work) -> None:
        for earlier in self.work:
            if earlier.operation.stream is later.operation.stream:
                continue
            shared = earlier.conflict(later)
            if shared is None or self.order.precedes(earlier.operation, later.operation):
                continue
            reused = any(later.touches(block.memory) for block in earlier.evicted)
            kind = Kind.BLOCK_REUSED if reused else Kind.UNORDERED
            self._report(kind, earlier.operation, shared, later.operation.queued_at)

    def _report(
        self,
        kind: Kind,
        operation: Operation,
        tensor: torch.Tensor,
        where: Place | Between,
        before: bytes = b"",
        after: bytes = b"",
    ) -> None:
        key = (kind, operation.stream, operation.seq, str(where))
        if key in self._said:
            return
        self._said.add(key)
        self.findings.append(
            Hazard(
                kind,
                buffer_of(tensor),
                operation.name,
                allocated_at(tensor),
                operation.queued_at,
                where,
                before,
                after,
            )
        )
