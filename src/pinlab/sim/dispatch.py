"""Every torch operator on device tensors arrives here.

A *kernel* is queued and its output returned at once (`kernels`); a *view* is made at once, on
metadata (`views`); an operator whose output's size depends on data waits for the stream and runs
(`immediate`). Which of these an operator is, its schema says (`schema`), read once. A few have a
rule of their own (`crossings`, and the table at the end).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim import crossings, views
from pinlab.sim.backward import enter_backward
from pinlab.sim.completion import RANK_INTO
from pinlab.sim.draws import drawing
from pinlab.sim.immediate import immediate
from pinlab.sim.kernels import by_copy, in_place, kernel, writing_kernel
from pinlab.sim.schema import Plan, read_schema
from pinlab.sim.tensor import SimTensor

Rule = Callable[[Plan, tuple[Any, ...], dict[str, Any]], Any]

_backward_pass = torch._C._current_graph_task_id
_rules: dict[int, tuple[Rule, Plan]] = {}


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run or queue one operator call in which at least one argument is a `SimTensor`."""
    known = _rules.get(id(func))  # operators live for ever, and their own hash is slow
    if known is None:
        known = _rules[id(func)] = _choose(func)
    if _backward_pass() != -1:
        enter_backward(args)
    rule, plan = known
    return rule(plan, args, kwargs)


def _choose(func: Any) -> tuple[Rule, Plan]:
    plan = read_schema(func)
    special = _SPECIAL.get(func.name())
    if special is not None:
        return special, plan
    if plan.composite:
        return _decompose, plan
    if plan.random:
        plan = drawing(plan)
    rule = _by_kind(plan)
    return (_by_device(rule) if plan.names_device else rule), plan


def _by_kind(plan: Plan) -> Rule:
    if plan.moves_metadata:
        return views.move_metadata
    if plan.is_view:
        return views.view
    if plan.immediate:
        return immediate
    if plan.in_place:
        return in_place
    return writing_kernel if plan.writes else kernel


def _decompose(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return plan.func.decompose(*args, **kwargs)


def _by_device(rule: Rule) -> Rule:
    """For operators with a ``device`` parameter, which may name another one."""

    def asked(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = kwargs.get("device")
        if device is None or device.type == "sim":
            return rule(plan, args, kwargs)
        return crossings.elsewhere(plan, args, kwargs)

    return asked


_SPECIAL: dict[str, Rule] = {
    "aten::copy_": crossings.copy_,
    "aten::_foreach_copy_": crossings.foreach_copy_,
    "aten::_to_copy": crossings.to_copy,
    "aten::_local_scalar_dense": crossings.item,
    "aten::_pin_memory": crossings.refuse_pinning,
    "aten::is_pinned": crossings.is_pinned,
    "aten::_pack_padded_sequence": crossings.pack_padded_sequence,
    "aten::as_strided": views.as_strided,
    "aten::resize_": views.resize_,
    "aten::resize_as_": views.resize_,
    "aten::set_": views.set_,
    "aten::set_.source_Tensor": views.set_,
    "aten::set_.source_Tensor_storage_offset": views.set_,
    "aten::set_.source_Storage": views.set_,
    "aten::set_.source_Storage_storage_offset": views.set_,
} | dict.fromkeys(
    (
        "aten::index.Tensor",
        "aten::_unsafe_index.Tensor",
        "aten::index_put",
        "aten::index_put_",
        "aten::_index_put_impl_",
        "aten::_unsafe_index_put",
    ),
    crossings.index,
)
_SPECIAL.update({f"aten::{name}": by_copy for name in RANK_INTO})
SimTensor.handler = staticmethod(dispatch)
