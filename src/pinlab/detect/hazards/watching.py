"""`hazards()`: watch a block of code for host accesses and device work that no wait orders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from pinlab import sim
from pinlab.detect.hazards.conversions import conversions_reported
from pinlab.detect.hazards.hazard import Findings
from pinlab.detect.hazards.host import HostAccess
from pinlab.detect.hazards.probable import Snapshots
from pinlab.detect.hazards.tracker import Tracker
from pinlab.sim.lines import HostLines, users_frame
from pinlab.sim.state import accelerator, device_memory, host_memory


@contextmanager
def hazards(lines: bool = False) -> Iterator[Findings]:
    """Watch every queued copy and kernel of the simulated device in a block.

    The findings do not depend on luck or mode: an operation is in flight until a wait, or a query
    that answered true, covers it. Another thread's host accesses are not seen.

    Args:
        lines: follow the host line by line, so that a numpy write is found on its exact line
            instead of "between a and b". Slower.

    Returns:
        The list of `Hazard`, filled while the block runs.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> device = pick_device()
    >>> row = torch.tensor([5, 7, 9], pin_memory=True)
    >>> with hazards(lines=True) as found:
    ...     lens = row.to(device, non_blocking=True)
    ...     row.numpy()[1] = 40
    >>> [(str(hazard.kind), hazard.buffer.name) for hazard in found]
    [("write to an upload's source", 'row')]
    """
    if not sim.installed() and os.environ.get("PINLAB_DEVICE", "sim") == "cuda":
        with probable_hazards(torch.cuda) as found:
            yield found
        return
    sim.install()
    device = accelerator()
    tracker = Tracker(device)
    follow = HostLines(lambda: _after_line(tracker, follow))
    with ExitStack() as stack:
        with device.lock:
            device.observers.append(tracker)
            device.capture_observers.append(tracker)
        stack.callback(device.observers.remove, tracker)
        stack.callback(device.capture_observers.remove, tracker)
        stack.enter_context(_lifetimes(tracker))
        stack.enter_context(conversions_reported(tracker))
        stack.enter_context(HostAccess(tracker))
        if lines:
            tracker.exact = True
            follow.start(users_frame())
            stack.callback(follow.stop)
            tracker.place = follow.place
        try:
            yield tracker.findings
        finally:
            tracker.look()


@contextmanager
def probable_hazards(gpu: Any) -> Iterator[Findings]:
    """The same block on a real GPU: snapshots compared when an upload is over.

    `hazards` uses it under ``PINLAB_DEVICE=cuda``; `lines` has no effect there.

    Args:
        gpu: the device module, ``torch.cuda``.
    """
    snapshots = Snapshots(gpu)
    with snapshots:
        yield snapshots.findings
    snapshots.compare(wait=True)


def _after_line(tracker: Tracker, follow: HostLines) -> None:
    tracker.place = follow.place
    tracker.look(at=follow.place)


@contextmanager
def _lifetimes(tracker: Tracker) -> Iterator[None]:
    """Hear of pinned and device blocks that are dropped and handed out again."""
    changes: list[tuple[Any, str, Callable[..., None]]] = [
        (host_memory, "dropped", tracker.dropped),
        (host_memory, "taken", tracker.taken),
        (device_memory, "recycled", tracker.recycled),
        (device_memory, "awaited", tracker.awaited),
    ]
    outer = [getattr(where, name) for where, name, _ in changes]
    for where, name, heard in changes:
        setattr(where, name, heard)
    try:
        yield
    finally:
        for (where, name, _), before in zip(changes, outer, strict=True):
            setattr(where, name, before)
