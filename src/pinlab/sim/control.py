"""The knobs: which mode, how fast a link, what fills fresh memory; and running work by hand."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from pinlab.sim.accelerator import Accelerator
from pinlab.sim.link import Link
from pinlab.sim.modes import MODES, Mode
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue
from pinlab.sim.state import accelerator, device_memory, host_memory, is_started
from pinlab.sim.streams import Stream


def installed() -> bool:
    """Whether `install` was called in this process."""
    return is_started()


@contextmanager
def mode(name: str | Mode, **options: Any) -> Iterator[Mode]:
    """Run a block in another mode: ``"threaded"``, ``"eager"``, ``"lazy"`` or ``"random"``.

    Entering and leaving let queued work run (what is held stays queued).

    Args:
        name: the mode, or a `Mode` object.
        options: ``order="creation" | "reversed"`` for lazy, ``seed=…`` for random.

    >>> from pinlab import sim
    >>> sim.install()
    >>> with sim.mode("lazy", order="reversed") as now:
    ...     print(now)
    lazy, streams reversed
    """
    new = _mode_named(name, options)
    device = accelerator()
    block = _enter(device, new)
    try:
        yield new
    finally:
        try:
            device.quiesce()
        finally:  # Ctrl-C while it runs
            with device.lock:
                if _is_last(_blocks, block):
                    _set_mode(device, block.outer)


def _mode_named(name: str | Mode, options: dict[str, Any]) -> Mode:
    if isinstance(name, Mode):
        if options:
            raise TypeError(f"{name} mode is made already: {', '.join(options)} cannot be set")
        return name
    if not isinstance(name, str) or name not in MODES:
        raise ValueError(f"mode {name!r}; known are {', '.join(map(repr, MODES))}")
    known = inspect.signature(MODES[name]).parameters
    for option in options:
        if option not in known:
            takes = ", ".join(known) or "no options"
            raise TypeError(f"{option}={options[option]!r}: {name} mode takes {takes}")
    return MODES[name](**options)


class _Block:
    """A ``with sim.mode(…)`` that was entered, and the mode that its end brings back."""

    def __init__(self, outer: Mode) -> None:
        self.outer = outer


_blocks: list[_Block] = []  # entered and not yet left, in order


def _enter(device: Accelerator, new: Mode) -> _Block:
    device.check_process()
    with device.lock:
        if device.mode.exclusive:
            raise RuntimeError(f"{device.mode} mode decides itself what runs when; it stays on")
        device.quiesce()
        _blocks.append(_Block(device.mode))
        _set_mode(device, new)
        return _blocks[-1]


def _is_last(entered: list[Any], block: Any) -> bool:
    """Take a block out that is left; whether its ``outer`` comes back now.

    Blocks of two generators or threads may be left in another order than they were entered: then
    the one entered next inherits it.
    """
    at = entered.index(block)
    del entered[at]
    if at == len(entered):
        return True
    entered[at].outer = block.outer
    return False


def _set_mode(device: Accelerator, mode: Mode) -> None:
    device.mode = mode
    mode.released(device)
    device.changed.notify_all()  # threads that wait in the other mode go on in this one


def step(n: int = 1, stream: Stream | None = None) -> list[Operation]:
    """Run up to `n` queued operations by hand, in `lazy` mode; return those that ran.

    Args:
        n: how many, 1 or more.
        stream: of which stream; None takes the first that can run, in order of creation.
    """
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n={n!r}; it must be a whole number from 1")
    device = accelerator()
    device.check_process()
    if device.mode.free_running or device.mode.exclusive:
        raise RuntimeError(f"step() needs lazy mode; in {device.mode} mode work runs by itself")
    ran: list[Operation] = []
    with device.lock:
        among: list[StreamQueue] = [stream.queue] if stream is not None else device.streams
        while len(ran) < n and (ready := [s for s in among if s.runnable]):
            ran.append(device.run_next(ready[0]))
        device.raise_errors()
    return ran


def pending() -> list[Operation]:
    """Work that is queued or running, in order of submission; empty before `install`."""
    return accelerator().pending() if is_started() else []


class link:
    """Set the link model of `threaded` mode: for good, or for a block with ``with``.

    Args:
        latency: seconds per transfer. bandwidth: bytes per second.

    >>> from pinlab import sim
    >>> sim.install()
    >>> with sim.link(latency=1e-3, bandwidth=1e9) as now:
    ...     now.seconds(1_000_000)
    0.002
    """

    entered: ClassVar[list[link]] = []  # and not yet left, in order

    def __init__(self, latency: float = Link.latency, bandwidth: float = Link.bandwidth) -> None:
        device = accelerator()
        self.outer = device.link
        device.link = self.model = Link(latency, bandwidth)

    def __enter__(self) -> Link:
        self.entered.append(self)
        return self.model

    def __exit__(self, *_: object) -> None:
        if _is_last(self.entered, self):
            accelerator().link = self.outer


def fill(byte: int | None = 0xCD) -> None:
    """Choose the byte that uninitialised device and pinned memory holds; None keeps old bytes."""
    if byte is not None and (not isinstance(byte, int) or not 0 <= byte <= 255):
        raise ValueError(f"byte={byte!r}; it must be from 0 to 255, or None")
    device_memory.fill = byte
    host_memory.fill = byte
