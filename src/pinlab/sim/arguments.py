"""The arguments of an operator call, in the three forms that are needed.

inner   device tensors replaced by the CPU tensors that stand for them, to run the operator
meta    replaced by tensors without bytes, to learn the result's layout
key     replaced by layouts, to remember that layout
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim.errors import DeviceMismatchError, SimError
from pinlab.sim.queue import StreamQueue
from pinlab.sim.schema import Plan
from pinlab.sim.tensor import SimTensor

# Operators that take index tensors from the host, as on CUDA: the tensor is uploaded first.
HOST_INDICES = frozenset({"aten::index.Tensor", "aten::index_put", "aten::index_put_"})
_HOST_INDICES_ALSO = frozenset({"aten::_index_put_impl_", "aten::_unsafe_index.Tensor"})


class Arguments:
    """One call's arguments. `tensors` are its device tensors in order, `inner` what they wrap."""

    __slots__ = ("args", "inner", "key", "kwargs", "meta_args", "meta_kwargs", "stream", "tensors")

    def __init__(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found: list[SimTensor] = []
        keys: list[Any] = [plan.func]
        self.args = tuple([_inner(plan, value, found, keys) for value in args])
        self.kwargs: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name == "generator":
                _refuse_generator(plan, value)
            elif name == "device":
                self.kwargs[name] = torch.device("cpu")
            else:
                keys.append(name)
                self.kwargs[name] = _inner(plan, value, found, keys)
        self.tensors = found
        self.inner = tuple([tensor._inner for tensor in found])
        self.key = tuple(keys)
        self.meta_args: Callable[[], Any] = lambda: [_meta(value) for value in args]
        self.meta_kwargs: Callable[[], Any] = lambda: {
            name: torch.device("meta") if name == "device" else _meta(value)
            for name, value in kwargs.items()
            if name != "generator"
        }
        self.stream = _backward_stream(found)


def collect(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Read a call's arguments.

    Raises:
        DeviceMismatchError: a CPU tensor with dimensions stands next to device tensors.
    """
    if plan.func.name() in HOST_INDICES or plan.func.name() in _HOST_INDICES_ALSO:
        args = tuple(_upload_indices(value) for value in args)
    return Arguments(plan, args, kwargs)


def _inner(plan: Plan, value: Any, found: list[SimTensor], keys: list[Any]) -> Any:
    kind = type(value)
    if kind is SimTensor:
        found.append(value)
        keys.append(value._layout)
        return value._inner
    if kind is int or kind is float or kind is bool or kind is str or value is None:
        keys.append(kind)
        keys.append(value)
        return value
    if isinstance(value, torch.Tensor):
        return _host_scalar(plan, value, keys)
    if isinstance(value, (list, tuple)):
        keys.append(len(value))
        return type(value)([_inner(plan, item, found, keys) for item in value])
    if isinstance(value, torch.Generator):
        _refuse_generator(plan, value)
    keys.append(value)
    return value


def _host_scalar(plan: Plan, value: torch.Tensor, keys: list[Any]) -> torch.Tensor:
    """A 0-dim CPU tensor is a kernel argument, read at submission; a larger one is a mistake."""
    if value.dim() > 0 or value.device.type != "cpu":
        raise mismatch(plan.name, value.device)
    keys.append(("host scalar", value.dtype))
    return value.detach().clone()


def _meta(value: Any) -> Any:
    if isinstance(value, SimTensor):
        return value._layout.meta()
    if isinstance(value, torch.Tensor):
        return value.detach()  # a host scalar takes part in type promotion as itself
    if isinstance(value, (list, tuple)):
        return type(value)([_meta(item) for item in value])
    return value


def _upload_indices(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    return [
        index.to("sim") if isinstance(index, torch.Tensor) and index.device.type == "cpu" else index
        for index in value
    ]


def _backward_stream(found: list[SimTensor]) -> StreamQueue | None:
    """Autograd's own thread works on the stream that the gradients come from."""
    if found and torch._C._current_graph_task_id() != -1:
        return found[0]._memory.block.stream
    return None


def _refuse_generator(plan: Plan, generator: Any) -> None:
    if generator is not None:
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
