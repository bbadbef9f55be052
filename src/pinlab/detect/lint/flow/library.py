"""Functions of torch and numpy: factories, views, copies, writes."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Array,
    Const,
    Cut,
    Ext,
    Obj,
    Seq,
    Values,
    arrays,
    constant,
    one,
)
from pinlab.detect.lint.flow.buffer import Pinned, Where
from pinlab.detect.lint.flow.copies import device_side, dtype_of
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.tensors import Tensors

TENSOR_MODULES = frozenset(
    "torch torch.nn.functional torch.linalg torch.fft torch.special torch.Tensor".split()
)


class Library(Tensors):
    """``torch.f(...)`` and ``numpy.f(...)``."""

    def library_call(
        self,
        dotted: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        """The value of a library call; None if this library function is not known."""
        prefix, _, name = dotted.rpartition(".")
        root = dotted.partition(".")[0]
        if name == "device" and root == "torch":
            literal = constant(args[0]) if args else None
            return one(literal or Ext("device"))
        known = self.stream_call(name, args, node, state) if root == "torch" else None
        if known is not None:
            return known
        for value in (kwargs[key] for key in ("out",) if key in kwargs):
            self.write(value, state, node, f"written by `{name}(out=…)`")
        if root == "torch":
            return self._torch(prefix, name, args, kwargs, node, state)
        return self._numpy(prefix, name, args, kwargs, node, state)

    def _torch(
        self,
        prefix: str,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if name == "_foreach_copy_" and len(args) > 1:
            flag = self.async_flag(args, kwargs, 2)
            targets = frozenset(self.flatten(args[0], state))
            self.copy_into(targets, frozenset(self.flatten(args[1], state)), flag, node, state)
            return args[0]
        if name in words.READERS:
            for value in args:
                self.read_inside(value, state, node, f"read by `{name}`")
            return UNKNOWN
        if name in ("from_dlpack", "to_dlpack") and args:
            return self.shared(args[0], name, "tensor", node, state)
        if prefix not in TENSOR_MODULES:
            return None
        if name in ("as_tensor", "asarray"):
            return self._as_tensor(name, args, kwargs, node, state)
        if name in words.VIEW_FUNCTIONS - words.NOT_VIEWS_IN_TORCH and args:
            return self.shared(args[0], name, "tensor", node, state)
        if name in words.SPLIT_FUNCTIONS and args and arrays(args[0]):
            return frozenset().union(*(self.rows(a, node, state) for a in arrays(args[0])))
        if name in words.TORCH_FACTORIES or name in words.LIKE_FACTORIES:
            like = arrays(args[0])[:1] if args and name in words.LIKE_FACTORIES else []
            return self.factory(name, args, kwargs, node, state, like[0] if like else None)
        if words.is_class_name(name) or name.startswith(("is_", "set_", "get_", "manual_")):
            return None
        return self._result(name, "tensor", args, kwargs, node, state)

    def _numpy(
        self,
        prefix: str,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if name in words.WRITE_FUNCTIONS or name == "at":
            for value in args[1:]:
                self.read(value, state, node, f"read by `{name}`")
            self.write(args[0] if args else UNKNOWN, state, node, f"written by `{name}`")
            return UNKNOWN
        if name in words.READERS:
            for value in args:
                self.read_inside(value, state, node, f"read by `{name}`")
            return UNKNOWN
        if name == "ndarray":
            return self.shared(kwargs.get("buffer", UNKNOWN), name, "array", node, state)
        if name in ("array", "asarray", "asanyarray") and args:
            return self._as_array(name, args, kwargs, node, state)
        if name in words.VIEW_FUNCTIONS and args:
            return self.shared(args[0], name, "array", node, state)
        if name in words.SPLIT_FUNCTIONS and args and arrays(args[0]):
            return frozenset().union(*(self.rows(a, node, state) for a in arrays(args[0])))
        if name in words.NUMPY_FACTORIES:
            return self._numpy_factory(name, args, kwargs, node, state)
        if words.is_class_name(name) or prefix in ("numpy.testing", "numpy.lib"):
            return None
        return self._result(name, "array", args, kwargs, node, state)

    def shared(self, source: Values, name: str, face: str, node: ast.expr, state: State) -> Values:
        """A function that shares its argument's memory: a view of each array given."""
        found = arrays(source)
        if not found:
            return one(self.new_array(node, state, face=face, where=Where.HOST))
        result = set()
        for array in found:
            step = "face" if name in words.KEEP_SHAPE_STEPS or name == "frombuffer" else "slice"
            view = self.view_method(array, name, node, state)
            cut = Cut(node, self.place_in_file(node), step)
            result.add(replace(view, face=face, cut=cut))
        return frozenset(result)

    def _as_tensor(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """``torch.as_tensor`` and ``torch.asarray``: share where dtype and device allow."""
        source = args[0] if args else kwargs.get("data", UNKNOWN)
        dtype = dtype_of(kwargs.get("dtype") or (args[1] if len(args) > 1 else None))
        if "dtype" in kwargs and dtype is None and constant(kwargs["dtype"]) is None:
            dtype = "?"
        side = device_side(kwargs["device"]) if "device" in kwargs else ""
        copying = constant(kwargs.get("copy", UNKNOWN))
        forced = copying is not None and copying.value is True
        if not arrays(source):
            where = Where.DEVICE if side == "device" else Where.HOST
            return one(self.new_array(node, state, where=where, dtype=dtype))
        moved = self.move(source, side, dtype, None, forced, node, state)
        kept = frozenset(atom for atom in moved if atom in source)
        return (moved - kept) | (self.shared(kept, name, "tensor", node, state) if kept else kept)

    def _as_array(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """``np.asarray`` shares, ``np.array`` copies unless told not to."""
        dtype = dtype_of(kwargs.get("dtype") or (args[1] if len(args) > 1 else None))
        copying = constant(kwargs.get("copy", UNKNOWN))
        copies = name == "array" if copying is None else copying.value is True
        host = [a for a in arrays(args[0]) if a.buffer.where is not Where.DEVICE]
        if len(host) < len(arrays(args[0])):
            self.wait_stream(state, state.stream)
        same = dtype is None or all(dtype == a.buffer.dtype for a in host)
        if copies or not same or not host:
            self.read(args[0], state, node, f"copied by `np.{name}`")
            ndim = host[0].ndim if len(host) == 1 else _literal_depth(node.args[0])
            fresh = self.new_array(
                node, state, face="array", where=Where.HOST, dtype=dtype, ndim=ndim
            )
            return one(fresh)
        return self.shared(frozenset(host), name, "array", node, state)

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

    def _numpy_factory(
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

    def _result(
        self,
        name: str,
        face: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """Any other function: it reads its arguments, its result is new memory."""
        sides = set()
        for value in (*args, *kwargs.values()):
            self.read(value, state, node, f"read by `{name}`")
            sides |= {array.buffer.where for array in arrays(value)}
        where = Where.UNKNOWN
        if face == "array" or sides == {Where.HOST}:
            where = Where.HOST
        elif Where.DEVICE in sides:
            where = Where.DEVICE
        return one(self.new_array(node, state, face=face, where=where))


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
        return _literal_depth(node.args[0]) if node.args else None
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


def _literal_depth(node: ast.expr) -> int | None:
    depth = 0
    while isinstance(node, ast.List | ast.Tuple):
        depth += 1
        if not node.elts:
            return depth
        node = node.elts[0]
    constant_leaf = isinstance(node, ast.Constant | ast.UnaryOp)
    return depth if constant_leaf and depth else None
