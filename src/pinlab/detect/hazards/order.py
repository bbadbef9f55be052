"""Happens-before: what is known to be over, by the host and at each point of each stream.

Knowledge is a vector clock: for each stream, the sequence number up to which everything is over.
Stream order, event waits and host waits hand it on; time and luck do not count.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from pinlab.sim.accelerator import Target
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue, Ticket

Knowledge = dict[StreamQueue, int]


class Order:
    """Follows one device from now on; what ran before counts as over."""

    def __init__(self) -> None:
        self.host: Knowledge = {}
        self._tail: dict[StreamQueue, Knowledge] = {}
        self._steps: dict[StreamQueue, tuple[list[int], list[Knowledge]]] = {}

    def submitted(self, operation: Operation) -> None:
        """An entry was queued: it knows what its stream and the host know now."""
        stream = operation.stream
        tail = self._tail.setdefault(stream, {})
        before = dict(tail)
        _join(tail, self.host)
        if operation.kind == "wait" and isinstance(operation.guard, Ticket):
            _join(tail, self.known_at(operation.guard.stream, operation.guard.seq))
        if tail != before or stream not in self._steps:
            numbers, states = self._steps.setdefault(stream, ([], []))
            numbers.append(operation.seq)
            states.append(dict(tail))

    def waited(self, targets: Iterable[Target]) -> None:
        """The host has seen that these targets are reached."""
        for stream, seq in targets:
            _join(self.host, self.known_at(stream, seq))

    def known_at(self, stream: StreamQueue, seq: int) -> Knowledge:
        """What is over once entry `seq` of `stream` is."""
        numbers, states = self._steps.get(stream, ([], []))
        at = bisect.bisect(numbers, seq) - 1
        known = dict(states[at]) if at >= 0 else {}
        known[stream] = max(known.get(stream, 0), seq)
        return known

    def is_over(self, operation: Operation) -> bool:
        """Whether the host knows that it is over."""
        return self.host.get(operation.stream, 0) >= operation.seq

    def precedes(self, first: Operation, second: Operation) -> bool:
        """Whether `first` is over before `second` begins, in every schedule."""
        known = self.known_at(second.stream, second.seq)
        return known.get(first.stream, 0) >= first.seq

    def precedes_next(self, first: Operation, stream: StreamQueue) -> bool:
        """Whether `first` is over before whatever is queued on `stream` next."""
        known = max(self.host.get(first.stream, 0), self._tail.get(stream, {}).get(first.stream, 0))
        return first.stream is stream or known >= first.seq


def _join(into: Knowledge, other: Knowledge) -> None:
    for stream, seq in other.items():
        if seq > into.get(stream, 0):
            into[stream] = seq
