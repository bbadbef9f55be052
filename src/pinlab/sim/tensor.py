"""`SimTensor`: a torch tensor whose bytes are device memory.

It wraps a CPU tensor, ``_inner``, that stands for the device's bytes. Its layout is always known;
its bytes are valid only once the queue has run, so nothing here reads them without waiting.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch._tensor_str import _add_suffixes, _tensor_str

from pinlab.sim.blocks import Allocation
from pinlab.sim.shapes import Layout


class SimTensor(torch.Tensor):
    """A tensor on the simulated device. Make one with torch: ``torch.zeros(3, device="sim")``."""

    _inner: torch.Tensor
    _layout: Layout
    _memory: Allocation
    handler: Callable[..., Any]  # `dispatch.dispatch`, set there: it needs this class

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if torch.is_inference_mode_enabled():  # device memory outlives the mode: no such tensors
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

    # Printing, copying, pickling go through the CPU ----------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        host = self.detach().cpu()
        prefix = "Parameter containing:\n" if getattr(self, "_is_param", False) else ""
        body = "[]" if not host.numel() else _tensor_str(host, indent=8 - 1)
        return str(prefix + _add_suffixes("tensor(" + body, self._suffixes(), 8 - 1, False))

    def _suffixes(self) -> list[str]:
        found = ["device='sim:0'"]
        if self.numel() == 0 and self.dim() != 1:
            found.append(f"size={tuple(self.shape)}")
        implied = (torch.get_default_dtype(), torch.int64, torch.bool, torch.cfloat)
        if self.dtype not in implied or (self.numel() == 0 and self.dtype != implied[0]):
            found.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            found.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            found.append("requires_grad=True")
        return found

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be deep-copied; use detach() first")
        with torch.no_grad():
            clone: Any = self.detach().clone()
        if getattr(self, "_is_param", False):
            clone._is_param = True
        clone.requires_grad_(self.requires_grad)
        memo[id(self)] = clone
        if self.grad is not None:
            clone.grad = copy.deepcopy(self.grad, memo)
        return clone

    def __reduce_ex__(self, protocol: Any) -> Any:
        is_parameter = getattr(self, "_is_param", False)
        return _rebuild, (self.detach().cpu(), self.requires_grad, is_parameter)


def _rebuild(host: torch.Tensor, requires_grad: bool, is_parameter: bool) -> torch.Tensor:
    tensor = host.to("sim").requires_grad_(requires_grad)
    return torch.nn.Parameter(tensor, requires_grad) if is_parameter else tensor


def wrap(inner: torch.Tensor, layout: Layout, memory: Allocation) -> SimTensor:
    """A device tensor over `inner`, part of the storage that `memory` stands for."""
    tensor: SimTensor = torch.Tensor._make_wrapper_subclass(
        SimTensor,
        layout.shape,
        strides=layout.stride,
        storage_offset=inner.storage_offset(),
        dtype=layout.dtype,
        device=_device(),
    )
    tensor._inner = inner
    tensor._layout = layout
    tensor._memory = memory
    if inner.is_conj():
        torch._C._set_conj(tensor, True)
    if inner.is_neg():
        torch._C._set_neg(tensor, True)
    return tensor


_known_device: list[torch.device] = []


def _device() -> torch.device:
    if not _known_device:
        _known_device.append(torch.device("sim", 0))
    return _known_device[0]
