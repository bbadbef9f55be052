"""Sizes of a result without computing it, found out once per operator and argument layouts.

A device operator returns before it ran, so its result's layout must be known at submission. Small
calls are tried out on zeros, which is quick and exact; large ones on meta tensors, which have no
bytes. Where neither tells, the layout is `UNKNOWN`: the caller waits and runs the operator.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import torch
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from pinlab.sim.schema import Plan

MAX_CACHED = 20_000  # entries; scalars are part of the key, so the cache is emptied when full


class Layout:
    """Shape, stride and dtype; equal layouts are one object, so they compare by identity."""

    __slots__ = ("dtype", "extent", "nbytes", "numel", "shape", "stride")
    known: ClassVar[dict[tuple[Any, ...], Layout]] = {}

    def __init__(self, shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> None:
        self.shape = shape
        self.stride = stride
        self.dtype = dtype
        self.numel = shape.numel()
        steps = zip(shape, stride, strict=True)
        self.extent = 1 + sum((n - 1) * step for n, step in steps) if self.numel else 0
        self.nbytes = self.extent * dtype.itemsize

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Layout:
        """The layout of a tensor."""
        return cls.get(tensor.shape, tensor.stride(), tensor.dtype)

    @classmethod
    def get(cls, shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> Layout:
        """The one layout with these properties."""
        key = (shape, stride, dtype)
        found = cls.known.get(key)
        if found is None:
            if len(cls.known) > MAX_CACHED:
                cls.known.clear()
            found = cls.known[key] = cls(shape, stride, dtype)
        return found

    def meta(self) -> torch.Tensor:
        """A tensor of this layout with no bytes."""
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device="meta")

    def filled(self, value: int) -> torch.Tensor:
        """A CPU tensor of this layout, the same value everywhere."""
        room = torch.full((self.extent,), value, dtype=self.dtype, device="cpu")
        return room.as_strided(self.shape, self.stride)

    def __repr__(self) -> str:
        return f"Layout({tuple(self.shape)}, {self.stride}, {self.dtype})"


def _ask_small(plan: Plan, call: Call) -> Any:
    """Try it out. An error may be due to the values: then other values, or meta tensors, tell."""
    try:
        return _try(plan, call, 0)
    except NotImplementedError:
        raise  # for this dtype, whatever the values
    except Exception as error:
        refusal = error
    try:
        layouts = _ask_meta(plan, call)
    except Exception:
        raise refusal from None
    if not isinstance(refusal, LinAlgError):  # zeros and ones are singular matrices
        try:
            return _try(plan, call, 1)
        except Exception as error:
            if str(error) == str(refusal):  # a mistake most likely
                if plan.is_out:
                    raise refusal from None
                return UNKNOWN  # the operator itself will name it
    return layouts


def _ask_large(plan: Plan, call: Call) -> Any:
    """Ask meta tensors; if they refuse, let the operator itself say why, or run."""
    try:
        return _ask_meta(plan, call)
    except Exception:
        _try(plan, call, 0)
        return UNKNOWN


def _try(plan: Plan, call: Call, fill: int) -> Any:
    args, kwargs = call.stand_ins("cpu", fill)
    return _layouts(plan, plan.run(*args, **kwargs), args, kwargs)


def _ask_meta(plan: Plan, call: Call) -> Any:
    args, kwargs = call.stand_ins("meta")
    try:
        return _layouts(plan, plan.func(*args, **kwargs), args, kwargs)
    except NotImplementedError:  # no meta kernel, or sizes depend on data
        return UNKNOWN


def _layouts(plan: Plan, result: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if not plan.writes:
        return as_layouts(result)
    return as_layouts((result, plan.written(tuple(args), kwargs)))


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class Call(Protocol):
    """What the cache needs to know of one call (`arguments.Arguments`)."""

    key: tuple[Any, ...] | None  # None: do not remember

    @property
    def elements(self) -> int: ...  # of all its tensors
    def stand_ins(self, device: str, fill: int = 0) -> tuple[list[Any], dict[str, Any]]: ...


class ShapeCache:
    """What operators return, tensors replaced by layouts; by operator and argument layouts."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.hits = 0
        self.runs = 0

    def infer(self, plan: Plan, call: Call) -> Any:
        """The layouts of the results: one `Layout`, or a tuple; `UNKNOWN` if only a run can tell.

        For an operator that writes arguments, a pair: of the results, and of those afterwards.

        Raises:
            Exception: the operator's own, for arguments that it refuses.
        """
        key = call.key
        try:
            found = self.known[key]
        except (KeyError, TypeError):  # not known yet, or an argument that has no hash
            found = self._run(plan, call)
            self._remember(key, found)
            return found
        self.hits += 1
        return found

    def _run(self, plan: Plan, call: Call) -> Any:
        self.runs += 1
        if call.elements > plan.tried and not plan.odd_on_cpu:
            return _ask_large(plan, call)
        return _ask_small(plan, call)

    def _remember(self, key: Any, found: Any) -> None:
        if key is None:
            return
        if len(self.known) > MAX_CACHED:
            self.known.clear()
        try:
            self.known[key] = found
        except TypeError:
            pass  # no hash


def as_layouts(value: Any) -> Any:
    """A result with its tensors replaced by their layouts; `UNKNOWN` if it holds anything else."""
    if isinstance(value, torch.Tensor):
        return Layout.of(value) if value.layout is torch.strided else UNKNOWN
    if isinstance(value, (tuple, list)):
        parts = tuple(as_layouts(item) for item in value)
        return UNKNOWN if UNKNOWN in parts else parts
    return None if value is None else UNKNOWN
