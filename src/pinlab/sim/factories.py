"""``pin_memory=True`` for torch's factory functions, `Tensor.pin_memory` and `Tensor.is_pinned`.

A Python backend cannot offer torch an allocator of pinned memory, so the factories are wrapped,
once and for all threads. Calls without ``pin_memory`` go straight through.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim.platform import current_platform
from pinlab.sim.state import host_memory

FACTORIES = (
    *("arange", "eye", "full", "linspace", "logspace", "ones", "tensor", "zeros"),
    *("rand", "randint", "randn", "randperm"),
    *("full_like", "ones_like", "zeros_like", "rand_like", "randint_like", "randn_like"),
    *("empty", "empty_like", "empty_permuted", "empty_strided"),
)
METHODS = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")
UNINITIALISED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)


def pin(tensor: torch.Tensor, keep_bytes: bool = True) -> torch.Tensor:
    """A pinned copy of a CPU tensor; an ordinary copy where pinning silently does not work.

    Args:
        tensor: any dense CPU tensor.
        keep_bytes: False leaves the recognisable fill instead of copying.
    """
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise RuntimeError(
            f"cannot pin a {tensor.layout} tensor on {tensor.device}: "
            "only dense CPU tensors can be pinned"
        )
    if not current_platform().pinning:
        return tensor.clone()
    like = torch.empty_like(tensor, device="meta")
    pinned = host_memory.allocate(like.shape, like.stride(), like.dtype)
    return pinned.copy_(tensor.detach()) if keep_bytes else pinned


def wrap_factories() -> None:
    """Replace torch's factory functions by ones that can pin."""
    from torch.jit import _builtins
    from torch.utils import _device

    _device._device_constructors()  # remembers the originals, for `with torch.device(…)`
    for name in FACTORIES:
        if hasattr(torch, name):
            factory = _with_pinning(getattr(torch, name), name)
            setattr(torch, name, factory)
            _builtins._register_builtin(factory, f"aten::{name}")  # torch.jit knows it by identity
    for name in METHODS:
        setattr(torch.Tensor, name, _with_pinning(getattr(torch.Tensor, name), name))


def _with_pinning(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    keep_bytes = name not in UNINITIALISED

    @functools.wraps(original)
    def factory(*args: Any, **kwargs: Any) -> Any:
        if "pin_memory" not in kwargs or not kwargs.pop("pin_memory"):
            return original(*args, **kwargs)
        if kwargs.get("out") is not None:
            raise RuntimeError("pin_memory=True and out= exclude each other")
        plain = original(*args, **kwargs)
        return pin(plain.detach(), keep_bytes).requires_grad_(plain.requires_grad)

    return factory


def override_pinning(library: torch.library.Library) -> None:
    """Let `Tensor.pin_memory()` and `Tensor.is_pinned()` of CPU tensors ask our allocator."""
    library.impl("_pin_memory", lambda tensor, device=None: pin(tensor), "CPU")
    library.impl("is_pinned", lambda tensor, device=None: host_memory.is_pinned(tensor), "CPU")
