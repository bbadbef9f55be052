"""The host's own torch calls: which bytes they read and write, and on which line.

Operators on CPU tensors pass a `TorchDispatchMode`. `tolist()` and numpy conversions do not, so
they are wrapped while somebody watches. An array made from a buffer that a pending download will
fill is a `PendingArray`: making it reads nothing, using it before the wait does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pinlab.detect.hazards.tracker import Tracker
from pinlab.sim import Place, SimTensor
from pinlab.sim.extent import Runs, overlap, runs_of
from pinlab.sim.place import caller_place
from pinlab.sim.schema import Plan, read_schema
from pinlab.sim.state import host_memory

Access = Callable[[Runs, Place], None]


class HostAccess(TorchDispatchMode):
    """Reports reads and writes of CPU tensors to a tracker, before and after each operator."""

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tracker = tracker
        self.plans: dict[Any, Plan] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.tracker.flights:
            return func(*args, **kwargs)
        plan = self.plans.get(func)
        if plan is None:
            plan = self.plans[func] = read_schema(func)
        place = caller_place()
        written = [t for t in plan.mutated(args, kwargs) if _is_host(t)]
        self.tracker.look()
        for tensor in self._read(plan, args, kwargs, written):
            self.tracker.read(runs_of(tensor), place)
        result = func(*args, **kwargs)
        if not _any_device(args):  # a download is the device's write
            for tensor in written:
                self.tracker.wrote(runs_of(tensor), place)
        return result

    def _read(self, plan: Plan, args: Any, kwargs: Any, written: list[Any]) -> Iterator[Any]:
        if plan.is_view or plan.moves_metadata:
            return  # metadata only
        to_device = _any_device(args) or _is_to_device(kwargs)
        pure_write = plan.name.split(".")[1] in _OVERWRITES
        for tensor in _tensors(args):
            if not _is_host(tensor) or (pure_write and any(tensor is t for t in written)):
                continue
            late = to_device and host_memory.is_pinned(tensor) and tensor.is_contiguous()
            if not late:  # a pinned source is read by the device, see the stream order
                yield tensor


# Operators that write their first argument without reading it.
_OVERWRITES = frozenset({"copy_", "fill_", "zero_"})


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _is_host(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.layout is torch.strided
    )


def _any_device(args: Any) -> bool:
    return any(isinstance(tensor, SimTensor) for tensor in _tensors(args))


def _is_to_device(kwargs: Any) -> bool:
    device = kwargs.get("device")
    return device is not None and torch.device(device).type != "cpu"


class PendingArray(np.ndarray[Any, Any]):
    """A numpy view of a buffer that a pending download will fill; each use is reported.

    Once the download is covered by a wait it is an array like any other.
    """

    access: Access | None = None

    def __array_finalize__(self, base: Any) -> None:
        self.access = getattr(base, "access", None)

    def _report(self) -> None:
        if self.access is not None:
            self.access(runs_of(self), caller_place())

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, np.ndarray) or not np.may_share_memory(
            _plain(found), _plain(self)
        ):
            self._report()  # an element, or a copy by fancy indexing; a slice reads nothing
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for value in inputs:
            if isinstance(value, PendingArray):
                value._report()
        outs = tuple(_plain(value) for value in kwargs.pop("out", ()))
        if outs:
            kwargs["out"] = outs
        return getattr(ufunc, method)(*[_plain(value) for value in inputs], **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self._report()
        return func(*[_plain(value) for value in args], **{k: _plain(v) for k, v in kwargs.items()})

    def __iter__(self) -> Iterator[Any]:
        self._report()
        return iter(_plain(self))

    def tolist(self) -> Any:
        self._report()
        return super().tolist()

    def item(self, *args: Any) -> Any:
        self._report()
        return super().item(*args)

    def tobytes(self, *args: Any, **kwargs: Any) -> bytes:
        self._report()
        return super().tobytes(*args, **kwargs)

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        self._report()
        return _plain(self).copy(*args, **kwargs)

    def __repr__(self) -> str:
        self._report()
        return repr(_plain(self))

    def __bool__(self) -> bool:
        self._report()
        return bool(_plain(self))

    def __int__(self) -> int:
        self._report()
        return int(_plain(self))

    def __float__(self) -> float:
        self._report()
        return float(_plain(self))


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, PendingArray) else value


@contextmanager
def conversions_reported(tracker: Tracker) -> Iterator[None]:
    """Report `tolist()` and the use of numpy views of a download's destination."""
    originals: dict[str, Any] = {
        name: getattr(torch.Tensor, name) for name in ("tolist", "numpy", "__array__")
    }
    plain_list, plain_numpy, plain_array = originals.values()

    def tolist(self: torch.Tensor) -> Any:
        if _is_host(self):
            tracker.look()
            tracker.read(runs_of(self), caller_place())
        return plain_list(self)

    def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
        return _pending(tracker, plain_numpy(self, force=force))

    def array(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if _is_host(self):
            tracker.read(runs_of(self), caller_place())
        return plain_array(self, *args, **kwargs)

    changes = {"tolist": tolist, "numpy": numpy, "__array__": array}
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
