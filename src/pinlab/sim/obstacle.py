"""What stands in the way of a wait: a closed hold, met directly or through event waits."""

from __future__ import annotations

import threading
import time

from pinlab.sim.errors import HeldStreamError
from pinlab.sim.queue import HoldMark, StreamQueue, Ticket


def hold_before(stream: StreamQueue, seq: int) -> HoldMark | None:
    """A closed hold that `stream` meets before it can reach `seq`, through event waits as well.

    Streams may wait for each other many times over, so no part of a queue is looked at twice.
    """
    seen: dict[StreamQueue, int] = {}
    to_see = [(stream, seq)]
    while to_see:
        stream, seq = to_see.pop()
        before = seen.get(stream, 0)
        seen[stream] = max(seq, before)
        for operation in stream.pending:
            if operation.seq > seq:
                break
            guard = operation.guard
            if operation.seq <= before or guard is None:
                continue
            if isinstance(guard, HoldMark) and not guard.released:
                return guard
            if operation.kind == "wait" and isinstance(guard, Ticket) and not guard.done:
                to_see.append((guard.stream, guard.seq))
    return None


def check_hold(hold: HoldMark) -> None:
    """An error if nobody else will open `hold`, or if its time is up.

    Raises:
        HeldStreamError: naming the line of the hold.
    """
    if hold.owner == threading.get_ident() and not hold.timed:
        message = _held(hold, "by this same thread, which now waits for it")
        raise HeldStreamError(message, hold.place)
    if time.monotonic() > hold.deadline:
        raise HeldStreamError(_held(hold, "and its timeout has passed"), hold.place)


def _held(hold: HoldMark, why: str) -> str:
    return (
        f"stream {hold.stream.index} is held at {hold.place} {why}; leave the hold first, "
        "or pass release_after=…"
    )
