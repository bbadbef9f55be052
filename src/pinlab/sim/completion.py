"""What a Python backend needs beside its two allocation kernels to pass for a device of torch's."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim import generator
from pinlab.sim.memory import empty
from pinlab.sim.quiet import quiet
from pinlab.sim.refusals import refuse_what_torch_cannot_make
from pinlab.sim.saving import register_loading

# Torch's own code for these leaves `out` as it was if it meets a tensor subclass (torch 2.13).
RANK_INTO = tuple(
    f"linalg_matrix_rank.{form}"
    for form in ("out", "atol_rtol_tensor_out", "atol_rtol_float_out", "out_tol_tensor")
)


_library: list[torch.library.Library] = []


def complete(library: torch.library.Library) -> None:
    """Called once, at `install`."""
    _refuse_autocast(library)
    library.impl("_efficientzerotensor", _efficient_zeros, "PrivateUse1")
    library.impl("_local_scalar_dense", _local_scalar_dense, "PrivateUse1")
    for name in RANK_INTO:  # with a kernel of its own it reaches `dispatch` in one piece
        library.impl(name, _unreached, "PrivateUse1")
    register_loading()
    refuse_what_torch_cannot_make()
    generator.manual_seed(torch.initial_seed())  # the host may have been seeded before


def _refuse_autocast(library: torch.library.Library) -> None:
    """Refuse, under ``torch.autocast("sim")``, the operators that it would change on CUDA."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    _library.append(everything)  # its end would undo the registration
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(
            name, "AutocastCUDA"
        ):
            library.impl(name.removeprefix("aten::"), _no_autocast, "AutocastPrivateUse1")


def _no_autocast(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "the simulated device has no autocast: convert with .to(torch.bfloat16) where needed"
    )


def _unreached(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the simulated device's tensors never get below the Python key here")


def _efficient_zeros(
    size: list[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    """What forward-mode gradients ask for: here plain zeros."""
    return empty(size, dtype, layout, device, pin_memory).zero_()


def _local_scalar_dense(tensor: torch.Tensor) -> Any:
    """``item()`` as it reaches us below the Python key, from `torch.tensor([device_scalar])`."""
    with quiet():
        return tensor.item()
