"""Random operators: each call gets a generator of its own, seeded at submission.

So its numbers depend neither on when the queue runs nor on which thread does, and the host's own
random state is left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from pinlab.sim.generator import next_seed
from pinlab.sim.schema import Plan

# Overloads that draw from the default generator, and those that take one.
_WITH_GENERATOR = {
    "aten::rand_like": "generator",
    "aten::randn_like": "generator",
    "aten::randint_like": "generator",
    "aten::randint_like.low_dtype": "low_generator_dtype",
    "aten::randint_like.Tensor": "Tensor_generator",
}


def seeded() -> torch.Generator:
    """A generator for one call."""
    return torch.Generator().manual_seed(next_seed())


def drawing(plan: Plan) -> Plan:
    """The plan of a random operator, changed so that it can be given a generator.

    Raises:
        NotImplementedError: it draws from the CPU's own generator and cannot be told otherwise.
    """
    if plan.takes_generator:
        return plan
    name = plan.func.name()
    if name == "aten::native_dropout":
        return replace(plan, run=_native_dropout)
    overload = _WITH_GENERATOR.get(name)
    packet = getattr(torch.ops.aten, name.removeprefix("aten::").partition(".")[0])
    if overload is None or not hasattr(packet, overload):
        raise NotImplementedError(f"{plan.name} has no form that takes a generator")
    return replace(plan, run=getattr(packet, overload))


def _native_dropout(
    values: torch.Tensor, p: float, train: bool | None, *, generator: torch.Generator
) -> Any:
    """Zero each value with probability `p` and scale up the rest; also return what was kept."""
    mask = torch.empty_like(values, dtype=torch.bool, device="cpu")
    if train is False:
        return values.clone(), mask.fill_(True)
    mask.bernoulli_(1 - p, generator=generator)
    return values * mask * (0.0 if p == 1 else 1 / (1 - p)), mask
