"""`tolist()`, numpy conversions, pickling: they pass no dispatch mode, and are wrapped instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from pinlab.detect.hazards.array import PendingArray
from pinlab.detect.hazards.host import is_host
from pinlab.detect.hazards.line import host_line
from pinlab.detect.hazards.tracker import Tracker
from pinlab.sim.extent import overlap, runs_of


@contextmanager
def conversions_reported(tracker: Tracker) -> Iterator[None]:
    """Report `tolist()`, pickling, and the use of numpy views of a download's destination."""
    originals: dict[str, Any] = {
        name: getattr(torch.Tensor, name)
        for name in ("tolist", "numpy", "__array__", "__reduce_ex__")
    }
    plain_list, plain_numpy, plain_array, plain_reduce = originals.values()

    def tolist(self: torch.Tensor) -> Any:
        if is_host(self):
            tracker.look()
            tracker.read(runs_of(self), host_line())
        return plain_list(self)

    def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
        return _pending(tracker, plain_numpy(self, force=force))

    def array(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if is_host(self):
            tracker.read(runs_of(self), host_line())
        return plain_array(self, *args, **kwargs)

    def reduce(self: torch.Tensor, protocol: Any) -> Any:
        """`pickle` and `torch.save`."""
        if is_host(self):
            tracker.look()
            tracker.read(runs_of(self), host_line())
        return plain_reduce(self, protocol)

    changes = {"tolist": tolist, "numpy": numpy, "__array__": array, "__reduce_ex__": reduce}
    for name, function in changes.items():
        setattr(torch.Tensor, name, function)
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(torch.Tensor, name, function)


def _pending(tracker: Tracker, array: Any) -> Any:
    runs = runs_of(array)
    if not any(overlap(flight.written, runs) for flight in tracker.flights):
        return array
    view = array.view(PendingArray)
    view.access = tracker.read
    return view
