"""`SimTensor`: a torch tensor whose bytes are device memory.

It wraps a CPU tensor, ``_inner``, that stands for the device's bytes. Its layout is always known;
its bytes are valid only once the queue has run, so nothing here reads them without waiting.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim.blocks import Allocation
from pinlab.sim.printing import printed
from pinlab.sim.shapes import Layout

_make_wrapper: Callable[..., Any] = torch.Tensor._make_wrapper_subclass
_is_inference = torch.is_inference_mode_enabled


class SimTensor(torch.Tensor):
    """A tensor on the simulated device. Make one with torch: ``torch.zeros(3, device="sim")``."""

    __slots__ = ("_inner", "_layout", "_memory")
    _inner: torch.Tensor
    _layout: Layout
    _memory: Allocation
    handler: Callable[..., Any]  # `dispatch.dispatch`, set there: it needs this class

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if _is_inference():  # device memory outlives the mode: no such tensors
            with torch.inference_mode(False), torch.no_grad():
                return SimTensor.handler(func, args, kwargs or {})
        return SimTensor.handler(func, args, kwargs or {})

    # What torch's C++ side would do for a device of its own ------------------------------------

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        raise TypeError(
            "can't convert sim:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
            "to host memory first."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def data_ptr(self) -> int:
        """The address that stands for the device's: same block, same number."""
        return self._inner.data_ptr()

    def record_stream(self, stream: Any) -> None:
        """Do not reuse this tensor's block before `stream` got past the tensor's death."""
        self._memory.record(stream.queue)

    def is_shared(self) -> bool:
        return False

    @property
    def data(self) -> Any:
        return torch.Tensor.data.__get__(self)  # type: ignore[attr-defined]

    @data.setter
    def data(self, other: Any) -> None:
        torch.Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        if isinstance(other, SimTensor):
            self._inner, self._layout, self._memory = other._inner, other._layout, other._memory

    # Printing, copying, pickling -------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return printed(self, tensor_contents)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __copy__(self) -> Any:
        return self._leaf(self.detach())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "only tensors that no operator with gradients made (graph leaves) can be "
                "deep-copied; use detach() first"
            )
        if id(self) in memo:
            return memo[id(self)]
        with torch.no_grad():
            clone: Any = self._leaf(self._deep_storage(memo))
        memo[id(self)] = clone
        if self.grad is not None:
            clone.grad = copy.deepcopy(self.grad, memo)
        return clone

    def _leaf(self, values: Any) -> Any:
        """`values` as what this tensor is: a parameter or not, with or without gradients."""
        if getattr(self, "_is_param", False):
            values._is_param = True
        return values.requires_grad_(self.requires_grad)

    def _deep_storage(self, memo: dict[int, Any]) -> Any:
        """The same view of a copy of all the memory, so that two copied views still share it."""
        memory = self._memory
        whole: Any = memo.get(id(memory))
        if whole is None:
            nbytes = memory.nbytes
            layout = Layout.get(torch.Size([nbytes]), (1,), torch.uint8)
            whole = memo[id(memory)] = wrap(memory.block.memory[:nbytes], layout, memory).clone()
        room = whole._memory.block.memory.view(self.dtype)
        inner = room.as_strided(self.shape, self.stride(), self._inner.storage_offset())
        inner = inner.conj() if self.is_conj() else inner
        return wrap(torch._neg_view(inner) if self.is_neg() else inner, self._layout, whole._memory)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As torch pickles tensors of devices whose bytes it cannot reach: `map_location` works."""
        if getattr(self, "_is_param", False):
            return torch._utils._rebuild_parameter, (self.detach(), self.requires_grad, {})
        host, device = self.detach().cpu(), str(self.device)
        rebuild = torch._utils._rebuild_device_tensor_from_cpu_tensor
        return rebuild, (host, self.dtype, device, self.requires_grad)


def wrap(inner: torch.Tensor, layout: Layout, memory: Allocation) -> SimTensor:
    """A device tensor over `inner`, part of the storage that `memory` stands for."""
    tensor = whole(inner, layout, memory, inner.storage_offset())
    if inner.is_conj():
        torch._C._set_conj(tensor, True)
    if inner.is_neg():
        torch._C._set_neg(tensor, True)
    return tensor


def whole(inner: torch.Tensor, layout: Layout, memory: Allocation, offset: Any = 0) -> SimTensor:
    """The same for an `inner` that lies at `offset` of its storage, no bits set."""
    # By position, as far as it goes: torch reads keywords more slowly.
    tensor: SimTensor = _make_wrapper(
        SimTensor, layout.shape, layout.stride, offset, None, layout.dtype, torch.strided, _device()
    )
    tensor._inner = inner
    tensor._layout = layout
    tensor._memory = memory
    return tensor


@functools.cache
def _device() -> torch.device:
    return torch.device("sim", 0)
