"""Holding a stream: queue a closed gate, let the host act, open it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pinlab.sim.operation import Operation
from pinlab.sim.place import caller_place
from pinlab.sim.queue import HoldMark
from pinlab.sim.state import accelerator
from pinlab.sim.streams import Stream, current_stream


@contextmanager
def hold(
    stream: Stream | None = None,
    timeout: float = 10.0,
    release_after: float | None = None,
    warmup: Callable[[], object] | None = None,
) -> Iterator[HoldMark]:
    """Stop `stream` (the current one if None) until the block ends.

    Args:
        stream: which stream; others go on.
        timeout: seconds after which a wait of another thread gives up with an error.
        release_after: open the gate after so many seconds, although the block goes on. Then this
            thread may wait for the stream.
        warmup: called once before, and waited for, as first runs may wait on CUDA.

    Raises:
        HeldStreamError: within the block, for a wait that only the end of the block could end.

    >>> from pinlab import sim
    >>> sim.install()
    >>> import torch
    >>> row = torch.tensor([1, 2], pin_memory=True)
    >>> with hold():
    ...     there = row.to("sim", non_blocking=True)
    ...     _ = row.fill_(0)
    >>> there.tolist()
    [0, 0]
    """
    check_times(timeout, release_after)
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"stream={stream!r}; it must be a stream of the device, or None")
    device = accelerator()
    if warmup is not None:
        warmup()
        device.wait(device.everything())  # nothing of it shall still run while the stream is held
    queue = (stream if stream is not None else current_stream()).queue
    deadline = time.monotonic() + timeout
    gate = HoldMark(queue, caller_place(), deadline, release_after is not None)
    mark = Operation("hold", "hold", queue, None)
    mark.guard = gate
    timer = None
    try:
        with device.lock:
            device.submit(mark)
            device.holds.append(gate)
        timer = _start_timer(lambda: device.release(gate), release_after)
        yield gate
    finally:
        if timer is not None:
            timer.cancel()
        device.release(gate)


def check_times(timeout: float, release_after: float | None) -> None:
    """Refuse a `timeout` that is not above 0 and a `release_after` beyond it."""
    for name, value in (("timeout", timeout), ("release_after", release_after)):
        if not isinstance(value, int | float | None):
            raise TypeError(f"{name}={value!r}; it must be a number of seconds")
    if not timeout > 0:
        raise ValueError(f"timeout={timeout} s; it must be above 0")
    if release_after is not None and not 0 <= release_after <= timeout:
        raise ValueError(f"release_after={release_after} s; it must be from 0 to timeout={timeout}")


def _start_timer(action: Callable[[], object], seconds: float | None) -> threading.Timer | None:
    if seconds is None:
        return None
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer
