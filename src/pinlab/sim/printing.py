"""What `print` shows of a device tensor: as torch prints one of CUDA's."""

from __future__ import annotations

import torch
from torch._tensor_str import PRINT_OPTS, _add_suffixes, _tensor_str

PREFIX = "tensor("


def printed(tensor: torch.Tensor, contents: str | None = None) -> str:
    """The text for a device tensor; waits for its stream.

    Args:
        contents: stands in for the values, if given.
    """
    host = tensor.detach().cpu()
    if contents is None:
        contents = _tensor_str(host, len(PREFIX)) if host.numel() else "[]"
    text = _add_suffixes(PREFIX + contents, _suffixes(tensor), len(PREFIX), force_newline=False)
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    return f"Parameter containing:\n{text}" if is_parameter else str(text)


def _suffixes(tensor: torch.Tensor) -> list[str]:
    default = torch.get_default_dtype()
    found = [f"device='{tensor.device}'"]
    if (tensor.numel() == 0 and tensor.dim() != 1) or not PRINT_OPTS.edgeitems:
        found.append(f"size={tuple(tensor.shape)}")
    complex_default = torch.cdouble if default is torch.double else torch.cfloat
    implied = (default, complex_default, torch.int64, torch.bool) if tensor.numel() else (default,)
    if tensor.dtype not in implied:
        found.append(f"dtype={tensor.dtype}")
    node = tensor.grad_fn
    if node is not None:
        name = type(node).__name__
        found.append(f"grad_fn=<{node.name() if name == 'CppFunction' else name}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    return found
