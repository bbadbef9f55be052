"""What an operator's schema says about how to run it; read once per operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pinlab.sim.stand_ins import STAND_INS

# Scalars decide sizes (arange), or the meta kernel checks their value and should go on doing so.
_VALUES_COUNT = frozenset({"arange", "range", "pow", "_foreach_pow"})

# Elements of a call that is tried out on zeros to learn its result's layout: few enough that any
# operator is quick, and for operators whose cost only grows with the elements.
TRIED = 2**16
TRIED_IF_LINEAR = 2**22
_LINEAR = frozenset(
    {"arange", "cat", "copy_", "fill_", "normal_", "random_", "_to_copy", "uniform_", "zero_"}
)

# The meta kernel describes another device's result: CPU's has other sizes. A run on zeros tells.
_ODD_ON_CPU = frozenset(
    {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"}
    | {"_embedding_bag", "_embedding_bag_forward_only"}
)

# Written without a word in the schema.
_SILENTLY_WRITTEN = {"native_batch_norm": ("running_mean", "running_var")}

# Their results share the bytes of the argument, although the schema does not say so.
_SILENT_VIEWS = frozenset({"_unsafe_view", "unsafe_split", "unsafe_split_with_sizes"})

# They take tensors on the host beside device tensors, as on CUDA.
_HOST_TENSORS = frozenset(
    {"_ctc_loss.Tensor", "_ctc_loss_backward.Tensor", "_pack_padded_sequence"}
    | {f"_foreach_add{op}{form}.Tensor" for op in ("cdiv", "cmul") for form in ("", "_")}
)


@dataclass(frozen=True, eq=False)
class Plan:
    """How one operator overload is to be run. Plans are compared by identity.

    Attributes:
        func: the overload. run: the same, to be called on CPU tensors.
        name: e.g. ``"aten.add.Tensor"``.
        writes: positions and names of the arguments that it writes.
        results: for each result None if it is new, else the rank in `writes` that it returns.
        by_kind: for each position, whether of a Python number only its type matters for the
            result's layout; `by_kind_names`: the same for keyword arguments.
        in_place: writes its first argument and no other, returns it, and draws nothing.
        is_out: an ``out=`` form, whose outputs may be resized.
        is_view: returns other views of its argument's bytes.
        lone: takes one tensor, the first argument, and no list of tensors.
        moves_metadata: changes its argument's layout in place, no bytes.
        random: draws from a generator. takes_generator: has a parameter for it.
        immediate: the size of its result depends on data, or the result is no tensor.
        composite: made of other operators.
        tried: up to how many elements it is tried out on zeros.
        odd_on_cpu: its meta kernel cannot be asked. host_tensors: some arguments lie on the host.
        names_device: has a ``device`` parameter.
    """

    func: Any
    run: Callable[..., Any]
    name: str
    writes: tuple[tuple[int, str], ...]
    results: tuple[int | None, ...]
    by_kind: tuple[bool, ...]
    by_kind_names: frozenset[str]
    in_place: bool
    is_out: bool
    is_view: bool
    lone: bool
    moves_metadata: bool
    random: bool
    takes_generator: bool
    immediate: bool
    composite: bool
    tried: int
    odd_on_cpu: bool
    host_tensors: bool
    names_device: bool

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """For each of `writes` the tensor, list of tensors, or None, that this call names."""
        return [
            args[position] if position < len(args) else kwargs.get(name)
            for position, name in self.writes
        ]

    def mutated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors that this call writes, one by one."""
        groups = [t if isinstance(t, (list, tuple)) else [t] for t in self.written(args, kwargs)]
        return [tensor for group in groups for tensor in group if tensor is not None]


def read_schema(func: Any) -> Plan:
    """The plan of an ``OpOverload``.

    >>> plan = read_schema(torch.ops.aten.add_.Tensor)
    >>> plan.writes, plan.results
    (((0, 'self'),), (0,))
    >>> read_schema(torch.ops.aten.add.Tensor).results
    (None,)
    """
    schema = func._schema
    base, _, overload = func.name().removeprefix("aten::").partition(".")
    tags = set(func.tags)
    writes = _writes(schema, base)
    counted = [] if base in _VALUES_COUNT else [a for a in schema.arguments if _is_number(a.type)]
    aliases = [result.alias_info for result in schema.returns]
    results = tuple(_rank(alias, schema, writes) for alias in aliases)
    is_out = any(argument.is_out for argument in schema.arguments)
    random = torch.Tag.nondeterministic_seeded in tags
    takes_generator = any(argument.name == "generator" for argument in schema.arguments)
    return Plan(
        func=func,
        run=STAND_INS.get(func.name()) or getattr(func, "_op", func),
        name=str(func),
        writes=writes,
        results=results,
        by_kind=tuple(argument in counted for argument in schema.arguments),
        by_kind_names=frozenset(argument.name for argument in counted),
        in_place=[p for p, _ in writes] == [0] and results == (0,) and not (is_out or random),
        is_out=is_out,
        is_view=not writes and (base in _SILENT_VIEWS or any(aliases)),
        lone=_is_lone(schema),
        moves_metadata=torch.Tag.inplace_view in tags,
        random=random,
        takes_generator=takes_generator,
        immediate=_is_immediate(schema, tags) and base != "index",
        composite=_is_composite(func),
        tried=TRIED_IF_LINEAR if _is_linear(base, tags) else TRIED,
        odd_on_cpu=base in _ODD_ON_CPU or func.name() in STAND_INS,
        host_tensors=(f"{base}.{overload}" if overload else base) in _HOST_TENSORS,
        names_device=any(argument.name == "device" for argument in schema.arguments),
    )


def _writes(schema: Any, base: str) -> tuple[tuple[int, str], ...]:
    silent = _SILENTLY_WRITTEN.get(base, ())
    return tuple(
        (position, argument.name)
        for position, argument in enumerate(schema.arguments)
        if argument.name in silent
        or (argument.alias_info is not None and argument.alias_info.is_write)
    )


def _rank(alias: Any, schema: Any, writes: tuple[tuple[int, str], ...]) -> int | None:
    """Which written argument a result is, by their common alias set, as in ``Tensor(a!)``."""
    if alias is None or not alias.is_write:
        return None
    for rank, (position, _) in enumerate(writes):
        info = schema.arguments[position].alias_info
        if info is not None and info.before_set == alias.before_set:
            return rank
    return None


def _is_lone(schema: Any) -> bool:
    takes_tensors = ["Tensor" in str(argument.type) for argument in schema.arguments]
    return takes_tensors[:1] == [True] and not any(takes_tensors[1:])


def _is_number(kind: Any) -> bool:
    return str(kind) in ("number", "Tensor", "List[number]", "List[Tensor]", "Optional[number]")


def _is_immediate(schema: Any, tags: set[Any]) -> bool:
    if schema.name == "aten::_linalg_check_errors":  # a singular matrix is an error at once
        return True
    if {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & tags:
        return True
    return not all("Tensor" in str(result.type) for result in schema.returns)


def _is_linear(base: str, tags: set[Any]) -> bool:
    return base in _LINEAR or bool({torch.Tag.pointwise, torch.Tag.reduction} & tags)


def _is_composite(func: Any) -> bool:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return has_kernel(func.name(), "CompositeImplicitAutograd")
