"""The host's own torch operators: which bytes they read and write, and on which line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pinlab.detect.hazards.line import host_line
from pinlab.detect.hazards.tracker import Tracker
from pinlab.sim import SimTensor
from pinlab.sim.extent import runs_of
from pinlab.sim.schema import Plan, read_schema
from pinlab.sim.state import host_memory


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
        place = host_line()
        written = [t for t in plan.mutated(args, kwargs) if is_host(t)]
        self.tracker.look()
        for tensor in self._read(plan, args, kwargs, written):
            self.tracker.read(runs_of(tensor), place)
        result = func(*args, **kwargs)
        if not _any_device(args):  # a download is the device's write
            for tensor in written:
                self.tracker.wrote(runs_of(tensor), place)
        return result

    def _read(self, plan: Plan, args: Any, kwargs: Any, written: list[Any]) -> Iterator[Any]:
        if plan.is_view or plan.moves_metadata or _asks_for_layout(plan):
            return
        to_device = _any_device(args) or _is_to_device(kwargs)
        pure_write = plan.name.split(".")[1] in _OVERWRITES
        for tensor in _tensors(args):
            if not is_host(tensor) or (pure_write and any(tensor is t for t in written)):
                continue
            late = to_device and host_memory.is_pinned(tensor) and tensor.is_contiguous()
            if not late:  # a pinned source is read by the device, see the stream order
                yield tensor


def _asks_for_layout(plan: Plan) -> bool:
    """Whether an operator uses its argument's size and dtype only, e.g. ``zeros_like``."""
    name = plan.name.split(".")[1]
    return name in _QUESTIONS or name.endswith("_like") or name.startswith("new_")


_QUESTIONS = frozenset({"is_pinned", "is_same_size"})

# Operators that write their first argument without reading it.
_OVERWRITES = frozenset({"copy_", "fill_", "zero_"})


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def is_host(value: Any) -> bool:
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
