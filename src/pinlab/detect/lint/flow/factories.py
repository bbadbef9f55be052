"""Functions that make memory of their own, pinned if the call says so."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Array,
    Const,
    Obj,
    Seq,
    Values,
    one,
)
from pinlab.detect.lint.flow.buffer import Pinned, Where
from pinlab.detect.lint.flow.sides import device_side, dtype_of
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.tensors import Tensors


class Factories(Tensors):
    """``torch.zeros`` and ``numpy.zeros``, and their relatives."""

    def factory(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
        like: Array | None = None,
    ) -> Values:
        """``torch.zeros(...)``: memory of its own, pinned if the call says so."""
        for value in args:
            self.read(value, state, node, f"read by `{name}`")
        pinned = pinned_by(kwargs.get("pin_memory"))
        side = device_side(kwargs["device"]) if "device" in kwargs else ""
        where = Where.DEVICE if side == "device" else Where.HOST
        if like is not None and not side:
            where = like.buffer.where
        if pinned is Pinned.MAYBE and side == "device":
            # "Pinned if the device is the CPU": nothing is known of either.
            pinned, where = Pinned.NO, Where.UNKNOWN
        elif pinned is not Pinned.NO:
            where = Where.HOST
        default = "float32" if name in ("zeros", "ones", "empty", "rand", "randn") else None
        dtype = dtype_of(kwargs.get("dtype")) if "dtype" in kwargs else default
        if like is not None and "dtype" not in kwargs:
            dtype = like.buffer.dtype
        ndim = like.ndim if like is not None else _shape_ndim(name, args, kwargs, node)
        return one(self.new_array(node, state, where=where, pinned=pinned, dtype=dtype, ndim=ndim))

    def numpy_factory(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        given = kwargs.get("dtype") or (args[1] if len(args) > 1 and name != "full" else None)
        dtype = dtype_of(given) if given else ("float64" if name != "arange" else None)
        ndim = 1 if name in ("arange", "linspace", "fromiter") else None
        if ndim is None:
            ndim = _shape_ndim(name, args, kwargs, node)
        fresh = self.new_array(node, state, face="array", where=Where.HOST, dtype=dtype, ndim=ndim)
        return one(fresh)


def pinned_by(values: Values | None) -> Pinned:
    """What ``pin_memory=values`` says."""
    if values is None:
        return Pinned.NO
    if values and all(isinstance(atom, Const) for atom in values):
        answers = {bool(atom.value) for atom in values if isinstance(atom, Const)}
        if len(answers) == 1:
            return Pinned.YES if answers == {True} else Pinned.NO
    return Pinned.MAYBE


def _shape_ndim(
    name: str, args: list[Values], kwargs: dict[str, Values], node: ast.Call
) -> int | None:
    """The number of dimensions, where the shape is written out."""
    if name in ("arange", "linspace", "logspace", "randperm", "range"):
        return 1
    if name in ("eye", "identity"):
        return 2
    if name in ("tensor", "array", "new_tensor"):
        return literal_depth(node.args[0]) if node.args else None
    shape: ast.expr | None = node.args[0] if node.args else None
    shape = next((k.value for k in node.keywords if k.arg in ("size", "shape")), shape)
    if isinstance(shape, ast.Tuple | ast.List):
        starred = any(isinstance(item, ast.Starred) for item in shape.elts)
        return None if starred else len(shape.elts)
    given = next(iter(kwargs.get("size", args[0] if args else UNKNOWN)), None)
    if isinstance(given, Seq):
        return len(given.items)
    if isinstance(given, Obj) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    if len(node.args) > 1 and name in ("zeros", "ones", "empty", "rand", "randn"):
        # torch takes the sizes one by one; numpy's second argument is the dtype.
        return None if dtype_of(args[1]) else len(node.args)
    return 1 if isinstance(shape, ast.Constant) else None


def literal_depth(node: ast.expr) -> int | None:
    """How deep a literal list is nested: the dimensions of the array made of it."""
    depth = 0
    while isinstance(node, ast.List | ast.Tuple):
        depth += 1
        if not node.elts:
            return depth
        node = node.elts[0]
    constant_leaf = isinstance(node, ast.Constant | ast.UnaryOp)
    return depth if constant_leaf and depth else None
