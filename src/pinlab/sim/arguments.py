"""The arguments of an operator call, in the forms that are needed.

args, kwargs   device tensors replaced by the CPU tensors that stand for them, to run the operator
stand_ins()    replaced by zeros, or by tensors without bytes, to learn the result's layout
key            replaced by layouts, to remember that layout

Whatever the host could change later (lists, scalars in CPU tensors) is copied here, at submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from pinlab.sim.errors import DeviceMismatchError, SimError
from pinlab.sim.schema import Plan
from pinlab.sim.shapes import Layout
from pinlab.sim.tensor import SimTensor

_CPU = torch.device("cpu")
_default_dtype = torch.get_default_dtype
# They take part in the key as they are; asked for first, since `isinstance` takes longer.
_PLAIN = frozenset({bool, int, float, str, type(None), torch.dtype, torch.memory_format})


class Arguments:
    """One call's arguments.

    Attributes:
        inner: what its device tensors wrap, in order.
        given: the arguments as they came.
    """

    __slots__ = ("args", "given", "inner", "key", "kwargs", "plan")

    def __init__(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.plan = plan
        self.given = args, kwargs
        inners = self.inner = []  # type: list[torch.Tensor]
        read = self.args = []  # type: list[Any]
        key: list[Any] = [plan, _default_dtype()]
        # The commonest cases are spelled out: this loop is a good part of what a launch costs.
        for value, by_kind in zip(args, plan.by_kind):  # noqa: B905 - defaults at the end are left out
            kind = type(value)
            if kind is SimTensor:
                inner = value._inner
                inners.append(inner)
                read.append(inner)
                key.append(value._layout)
            elif by_kind and (kind is int or kind is float):
                read.append(value)
                key.append(kind)
            elif kind in _PLAIN:
                read.append(value)
                key.append(kind)
                key.append(value)
            else:
                read.append(self._read(value, by_kind, key))
        self.kwargs = self._read_named(kwargs, key) if kwargs else kwargs
        if plan.writes and len(inners) > 1:
            key.append(_repeats(self.tensors))
        self.key = None if plan.host_tensors else tuple(key)

    def _read_named(self, kwargs: dict[str, Any], key: list[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name == "device":
                found[name] = _CPU
            elif name != "generator":
                key.append(name)
                found[name] = self._read(value, name in self.plan.by_kind_names, key)
            elif value is not None:
                _refuse_generator(self.plan, value)
        return found

    def _read(self, value: Any, by_kind: bool, key: list[Any]) -> Any:
        kind = type(value)
        if kind is SimTensor:
            self.inner.append(value._inner)
            key.append(value._layout)
            return value._inner
        if kind in _PLAIN and not by_kind:
            key.append(kind)
            key.append(value)
            return value
        if isinstance(value, (list, tuple)):
            key.append(len(value))
            return [self._read(item, by_kind, key) for item in value]
        if isinstance(value, torch.Tensor):
            return self._read_host_tensor(value, key)
        if isinstance(value, torch.Generator):
            _refuse_generator(self.plan, value)
        key.append(kind)
        if not (by_kind and kind in (int, float, bool, complex)):
            key.append(value)
        return value

    def _read_host_tensor(self, value: torch.Tensor, key: list[Any]) -> torch.Tensor:
        """A 0-dim CPU tensor is a kernel argument, read at submission; a larger one is a mistake.

        Raises:
            DeviceMismatchError: naming both devices.
            NotImplementedError: a sparse tensor made of device tensors.
        """
        if value.device.type == "sim":
            raise NotImplementedError(f"the simulated device has no {value.layout} tensors")
        if value.device.type != "cpu" or (value.dim() > 0 and not self.plan.host_tensors):
            raise mismatch(self.plan.name, value.device)
        key.append(("host scalar", value.dtype))
        return value.detach().clone()

    @property
    def tensors(self) -> list[SimTensor]:
        """Its device tensors in order."""
        return list(_device_tensors(self.given[0])) + list(_device_tensors(self.given[1].values()))

    @property
    def elements(self) -> int:
        """How many elements all its device tensors have."""
        return sum(tensor._layout.numel for tensor in self.tensors)

    def stand_ins(self, device: str, fill: int = 0) -> tuple[list[Any], dict[str, Any]]:
        """The call with other tensors of the same layouts: on ``"meta"``, or full of `fill`."""
        args, kwargs = self.given
        known: dict[int, torch.Tensor] = {}  # a tensor given twice has one stand-in

        def make(layout: Layout) -> torch.Tensor:
            return layout.meta() if device == "meta" else layout.filled(fill)

        named = {
            name: torch.device(device) if name == "device" else _stand_in(value, make, known)
            for name, value in kwargs.items()
            if name != "generator"
        }
        if device == "cpu" and self.plan.random:
            named["generator"] = torch.Generator()  # not the host's
        return [_stand_in(value, make, known) for value in args], named


def _device_tensors(values: Iterable[Any]) -> Iterator[SimTensor]:
    for value in values:
        if isinstance(value, SimTensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _device_tensors(value)


def _repeats(tensors: list[SimTensor]) -> tuple[int, ...] | None:
    """Which tensors are one and the same: it matters to an operator that writes one of them."""
    ids = [id(tensor) for tensor in tensors]
    return None if len(set(ids)) == len(ids) else tuple([ids.index(one) for one in ids])


def _stand_in(
    value: Any, make: Callable[[Layout], torch.Tensor], known: dict[int, torch.Tensor]
) -> Any:
    if isinstance(value, SimTensor):
        if id(value) not in known:
            known[id(value)] = make(value._layout)
        return known[id(value)]
    if isinstance(value, torch.Tensor):
        return value.detach()  # a host scalar takes part in type promotion as itself
    if isinstance(value, (list, tuple)):
        return [_stand_in(item, make, known) for item in value]
    return value


def _refuse_generator(plan: Plan, generator: torch.Generator) -> None:
    raise SimError(
        f"{plan.name} got a generator on {generator.device}: a Python backend cannot make a "
        "generator of its own; seed the simulated device with torch.manual_seed instead"
    )


def mismatch(name: str, other: torch.device) -> DeviceMismatchError:
    """The error for tensors of two devices, worded as CUDA's is."""
    return DeviceMismatchError(
        "expected all tensors to be on the same device, but found at least two devices, "
        f"sim:0 and {other}! (in {name})"
    )
