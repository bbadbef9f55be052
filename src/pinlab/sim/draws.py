"""Random operators: each call gets a generator of its own, seeded at submission.

So its numbers depend neither on when the queue runs nor on which thread does, and the host's own
random state is left alone.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from pinlab.sim.generator import next_seed
from pinlab.sim.schema import Plan
from pinlab.sim.stand_ins import STAND_INS
from pinlab.sim.streams import current_queue

# Overloads that draw from the default generator, and those that take one.
_WITH_GENERATOR = {
    "aten::rand_like": "generator",
    "aten::randn_like": "generator",
    "aten::randint_like": "generator",
    "aten::randint_like.low_dtype": "low_generator_dtype",
    "aten::randint_like.Tensor": "Tensor_generator",
}
# Tagged as random from torch 2.14 on; the CPU's form refuses any dropout, so nothing is drawn.
_DRAWS_NOTHING = {"aten::_scaled_dot_product_flash_attention_for_cpu"}


def seeded() -> torch.Generator:
    """A generator for one call; in a capture it is seeded by each replay."""
    generator = torch.Generator()
    capture = current_queue().capture
    if capture is None:
        return generator.manual_seed(next_seed())
    capture.drawing.append(generator)
    return generator


def drawing(plan: Plan) -> Plan:
    """The plan of a random operator, changed so that it can be given a generator.

    Raises:
        NotImplementedError: it draws from the CPU's own generator and cannot be told otherwise.
    """
    if plan.takes_generator or plan.func.name() in STAND_INS:
        return plan
    name = plan.func.name()
    if name in _DRAWS_NOTHING:
        return replace(plan, random=False)
    overload = _WITH_GENERATOR.get(name)
    packet = getattr(torch.ops.aten, name.removeprefix("aten::").partition(".")[0])
    if overload is None or not hasattr(packet, overload):
        raise NotImplementedError(f"{plan.name} has no form that takes a generator")
    return replace(plan, run=getattr(packet, overload))
