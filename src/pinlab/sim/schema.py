"""What an operator's schema says about how to run it; read once per operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Plan:
    """How one operator overload is to be run.

    Attributes:
        mutates: positions and names of the arguments that it writes.
        is_out: an ``out=`` form, whose outputs may be resized.
        is_view: returns other views of its argument's bytes.
        moves_metadata: changes its argument's layout in place, no bytes.
        random: draws from a generator. takes_generator: has a parameter for it.
        immediate: the size of its result depends on data, or the result is no tensor.
        composite: made of other operators.
    """

    func: Any
    name: str
    mutates: tuple[tuple[int, str], ...]
    is_out: bool
    is_view: bool
    moves_metadata: bool
    random: bool
    takes_generator: bool
    immediate: bool
    composite: bool
    returns: int

    def mutated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors that this call writes."""
        found: list[Any] = []
        for position, name in self.mutates:
            value = args[position] if position < len(args) else kwargs.get(name)
            found.extend(value if isinstance(value, (list, tuple)) else [value])
        return [tensor for tensor in found if tensor is not None]

    def returned(self, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[Any]) -> Any:
        """What a call that only writes its arguments returns: those arguments."""
        if self.returns == 0:
            return None
        return written[0] if self.returns == 1 else tuple(written[: self.returns])


def read_schema(func: Any) -> Plan:
    """The plan of an ``OpOverload``.

    >>> read_schema(torch.ops.aten.add_.Tensor).mutates
    ((0, 'self'),)
    """
    schema = func._schema
    written = tuple(
        (position, argument.name)
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    aliases = [r.alias_info for r in schema.returns if r.alias_info is not None]
    tags = set(func.tags)
    takes_generator = any(argument.name == "generator" for argument in schema.arguments)
    random = torch.Tag.nondeterministic_seeded in tags
    return Plan(
        func=func,
        name=str(func),
        mutates=written,
        is_out=any(argument.is_out for argument in schema.arguments),
        is_view=bool(aliases) and not any(alias.is_write for alias in aliases),
        moves_metadata=torch.Tag.inplace_view in tags,
        random=random,
        takes_generator=takes_generator,
        immediate=_is_immediate(schema, tags) or (random and not takes_generator),
        composite=_is_composite(func),
        returns=len(schema.returns),
    )


def _is_immediate(schema: Any, tags: set[Any]) -> bool:
    if {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & tags:
        return True
    return not all("Tensor" in str(result.type) for result in schema.returns)


def _is_composite(func: Any) -> bool:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return has_kernel(func.name(), "CompositeImplicitAutograd")
