"""Sizes of a result without computing it: run the operator on meta tensors, once per layout.

A device operator returns before it ran, so its result's layout must be known at submission.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

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

    def __repr__(self) -> str:
        return f"Layout({tuple(self.shape)}, {self.stride}, {self.dtype})"


class NoInferenceError(Exception):
    """There is no meta kernel, or the size depends on data."""


class ShapeCache:
    """Results of meta runs. A value is what the operator returned, tensors replaced by layouts."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.hits = 0
        self.runs = 0

    def infer(self, func: Callable[..., Any], key: Any, args: Any, kwargs: Any) -> Any:
        """The layouts that ``func(*args, **kwargs)`` returns, `args` already being meta tensors.

        Raises:
            NoInferenceError: ask the real operator instead.
        """
        try:
            found = self.known.get(key)
        except TypeError:  # an argument that has no hash
            return self._run(func, args, kwargs)
        if found is None:
            if len(self.known) > MAX_CACHED:
                self.known.clear()
            found = self.known[key] = self._run(func, args, kwargs)
        else:
            self.hits += 1
        return found

    def _run(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.runs += 1
        try:
            return as_layouts(func(*args(), **kwargs()))
        except Exception as error:
            raise NoInferenceError(str(error)) from error


def as_layouts(value: Any) -> Any:
    """A result with its tensors replaced by their layouts.

    Raises:
        NoInferenceError: for results that are neither tensors nor containers of tensors.
    """
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise NoInferenceError(f"layout {value.layout}")
        return Layout.of(value)
    if isinstance(value, (tuple, list)):
        return tuple(as_layouts(item) for item in value)
    if value is None:
        return None
    raise NoInferenceError(f"a result of type {type(value).__name__}")
