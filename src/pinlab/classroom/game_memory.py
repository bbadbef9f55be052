"""The memory that a program's names reach, at one moment of the game, as plain text data.

Names come from the local variables of the stopped functions and, one step further, from the
attributes of the objects among them. Nothing here keeps a tensor alive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np
import torch

from pinlab.detect import alias_map
from pinlab.detect.aliases import BUFFERS
from pinlab.detect.extents import Extent, elements, extent_of
from pinlab.detect.runs import Runs, common, covered
from pinlab.detect.storage import Storage
from pinlab.schedules.prefix import Stop, Waiting
from pinlab.sim import SimTensor

MOST_VALUES = 16  # of one buffer
MOST_NAMES = 14
UNWRITTEN = "·"  # an element whose bytes are still the pattern that fresh memory is filled with
FRESH = 0xCD


@dataclass(frozen=True)
class Buffer:
    """One name and the bytes it reaches.

    Attributes:
        name: a local variable, or ``object.attribute``.
        where: ``"pinned"``, ``"pageable"`` or ``"device"``.
        owner: the name that holds the whole block, if that is another one, else "".
        span: the bytes that it reaches, e.g. ``"bytes [0:8]"``.
        values: the elements now, as short text; `UNWRITTEN` where nothing was written yet.
        changed: for each element, whether the last step changed it.
        uses: what queued work is still to do with it.
    """

    name: str
    where: str
    owner: str
    span: str
    values: tuple[str, ...]
    changed: tuple[bool, ...] = ()
    uses: tuple[str, ...] = ()

    @property
    def marked(self) -> list[str]:
        """The values, with a star behind those that the last step changed."""
        marks = self.changed or (False,) * len(self.values)
        return [
            f"{value}*" if new else value for value, new in zip(self.values, marks, strict=True)
        ]

    def since(self, before: Buffer | None) -> Buffer:
        """The same, knowing what the last step changed."""
        if before is None or len(before.values) != len(self.values):
            return self
        pairs = zip(before.values, self.values, strict=True)
        return replace(self, changed=tuple(old != new for old, new in pairs))


class Names:
    """The buffers that the functions on the stack have names for, outermost function first."""

    def __init__(self, frames: Iterable[FrameType]) -> None:
        self.things: dict[str, Any] = {}
        self.own: set[str] = set()  # plain local names of the program itself
        known: set[int] = set()
        for depth, frame in enumerate(frames):
            prefix = f"{frame.f_code.co_name}." if depth else ""
            for name, thing in _buffers(frame.f_locals):
                if id(thing) not in known:
                    known.add(id(thing))
                    self.things[prefix + name] = thing
                    if not depth and "." not in name:
                        self.own.add(name)
        self.extents = {name: extent_of(thing) for name, thing in self.things.items()}

    def of(self, tensors: Iterable[torch.Tensor]) -> str:
        """The name that fits the bytes of an operation's tensors best; "" if none does."""
        touched = [extent_of(tensor) for tensor in tensors]
        best, fit = "", 0
        for name, extent in self.extents.items():
            shared = sum(covered(common(extent.runs, other.runs)) for other in touched)
            spare = covered(extent.runs) - shared
            if shared and (not best or spare < fit):
                best, fit = name, spare
        return best


def _buffers(variables: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in variables.items():
        if isinstance(value, BUFFERS):
            yield from ((name, value),) * _has_bytes(value)
        elif hasattr(value, "__dict__") and not isinstance(value, (type, type(torch))):
            for attribute, part in vars(value).items():
                if isinstance(part, BUFFERS) and _has_bytes(part):
                    yield f"{name}.{attribute}", part


def _has_bytes(thing: Any) -> bool:
    try:
        return math.prod(extent_of(thing).shape) > 0
    except TypeError:
        return False


def buffers(names: Names, stop: Stop) -> tuple[Buffer, ...]:
    """A row for each name: pinned and device memory, and pageable memory the program names."""
    rows = [
        row
        for storage in alias_map(names.things).storages
        for row in _rows(storage, names, stop.waiting)
    ]
    return tuple(rows[:MOST_NAMES])


def _rows(storage: Storage, names: Names, waiting: list[Waiting]) -> Iterable[Buffer]:
    where = "device" if storage.space != "host" else "pinned" if storage.pinned else "pageable"
    if where == "pageable" and not names.own & {view.name for view in storage.views}:
        return
    for view in storage.views:
        extent = names.extents[view.name]
        owner = storage.owner or ""
        yield Buffer(
            view.name,
            where,
            "" if owner == view.name else owner,
            view.where,
            tuple(values_of(names.things[view.name], extent)),
            (),
            tuple(_uses(extent.runs, waiting)),
        )


def _uses(runs: Runs, waiting: list[Waiting]) -> Iterable[str]:
    for one in waiting:
        operation = one.operation
        for verb, tensors in (
            ("read", (*operation.host_reads, *operation.device_reads)),
            ("write", (*operation.host_writes, *operation.device_writes)),
        ):
            if any(len(common(runs, extent_of(tensor).runs)) for tensor in tensors):
                yield f"{short_name(operation.name)} will {verb} it"


def short_name(operation: str) -> str:
    """``aten.mul.Tensor`` is ``mul``."""
    return operation.split(".")[1] if operation.startswith("aten.") else operation


def values_of(thing: Any, extent: Extent) -> list[str]:
    """The elements that lie there now, without asking the device to wait; none if too many."""
    if math.prod(extent.shape) > MOST_VALUES:
        return []
    if isinstance(thing, SimTensor):
        inner = thing._inner
        try:
            found: list[Any] = list(inner.detach().resolve_conj().numpy().reshape(-1))
        except (TypeError, RuntimeError):  # a type that numpy lacks
            return []
    else:
        found = elements(extent)
    return [_short(value) for value in found]


def _short(value: Any) -> str:
    if np.asarray(value).tobytes() == bytes([FRESH]) * value.itemsize:
        return UNWRITTEN
    if value.dtype.kind == "b":
        return str(bool(value))
    return f"{value:.4g}" if value.dtype.kind in "fc" else str(value)
