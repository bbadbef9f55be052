"""Operators that torch asks of an accelerator and the CPU does not have, written out.

They run on CPU tensors, on the queue, like any kernel. What they compute is documented with
`torch.nn.LSTMCell`, `torch.nn.GRUCell` and `torch.nn.functional.dropout`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def native_dropout(
    values: Tensor, p: float, train: bool | None, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Zero each value with probability `p` and scale up the rest; also return what was kept."""
    mask = torch.empty_like(values, dtype=torch.bool, device="cpu")
    if train is False:
        return values.clone(), mask.fill_(True)
    mask.bernoulli_(1 - p, generator=generator)
    return values * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step: new hidden state, new cell state, and the gates, kept for the gradients."""
    gates = _sum(input_gates, hidden_gates, input_bias, hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of the gates, of the old cell state, of a bias."""
    i, f, g, o = workspace.chunk(4, 1)
    t = cy.tanh()
    dh = torch.zeros_like(cy) if grad_hy is None else grad_hy
    dc = dh * o * (1 - t * t) + (0 if grad_cy is None else grad_cy)
    gates = [
        dc * g * i * (1 - i),
        dc * cx * f * (1 - f),
        dc * i * (1 - g * g),
        dh * t * o * (1 - o),
    ]
    grads = torch.cat(gates, 1)
    return grads, dc * f, grads.sum(0) if has_bias else torch.empty(0, dtype=grads.dtype)


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step: the new hidden state, and what the gradients need."""
    ir, iz, inew = _sum(input_gates, input_bias).chunk(3, 1)
    hr, hz, hnew = _sum(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    new = (inew + r * hnew).tanh()
    return (1 - z) * new + z * hx, torch.cat([r, z, new, hx, hnew.contiguous()], 1)


def gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of both kinds of gates, of the old hidden state, of both biases."""
    r, z, new, hx, hnew = workspace.chunk(5, 1)
    dnew = grad_hy * (1 - z) * (1 - new * new)
    dz = grad_hy * (hx - new) * z * (1 - z)
    dr = dnew * hnew * r * (1 - r)
    inputs, hidden = torch.cat([dr, dz, dnew], 1), torch.cat([dr, dz, dnew * r], 1)
    none = torch.empty(0, dtype=grad_hy.dtype)
    biases = (inputs.sum(0), hidden.sum(0)) if has_bias else (none, none)
    return inputs, hidden, grad_hy * z, *biases


def _sum(first: Tensor, *others: Tensor | None) -> Tensor:
    for other in others:
        first = first if other is None else first + other
    return first


STAND_INS: dict[str, Callable[..., Any]] = {
    "aten::native_dropout": native_dropout,
    "aten::_thnn_fused_lstm_cell": lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": gru_cell,
    "aten::_thnn_fused_gru_cell_backward": gru_cell_backward,
}
