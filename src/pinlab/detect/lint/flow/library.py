"""Functions of torch and numpy: factories, views, copies, writes."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Cut,
    Ext,
    Values,
    arrays,
    constant,
    one,
)
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.factories import Factories, literal_depth
from pinlab.detect.lint.flow.sides import device_side, dtype_of
from pinlab.detect.lint.flow.state import State

TENSOR_MODULES = frozenset(
    "torch torch.nn.functional torch.linalg torch.fft torch.special torch.Tensor".split()
)


class Library(Factories):
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
            return self.numpy_factory(name, args, kwargs, node, state)
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
            ndim = host[0].ndim if len(host) == 1 else literal_depth(node.args[0])
            fresh = self.new_array(
                node, state, face="array", where=Where.HOST, dtype=dtype, ndim=ndim
            )
            return one(fresh)
        return self.shared(frozenset(host), name, "array", node, state)

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
