"""Methods of tensors, arrays and memoryviews."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Cut,
    Obj,
    Stream,
    Values,
    constant,
    one,
)
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.occurrences import OwnStreamRecord
from pinlab.detect.lint.flow.region import All, Key, One, Region, Run, Selector
from pinlab.detect.lint.flow.sides import dtype_of
from pinlab.detect.lint.flow.state import State, stamp
from pinlab.detect.lint.flow.subscripts import Subscripts


class Tensors(Subscripts):
    """``array.method(...)``."""

    def array_method(
        self,
        array: Array,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """What a method of `array` does to memory, and what it returns."""
        here = one(array)
        if "out" in kwargs:
            self.write(kwargs["out"], state, node, f"written by `{name}(out=…)`")
        if array.face == "address":
            return UNKNOWN
        moved = self._moving(here, name, args, kwargs, node, state)
        if moved is not None:
            return moved
        if name == "data_ptr":
            return one(replace(array, face="address"))
        if name in words.METADATA:
            return NUMBER
        if name == "record_stream":
            self._record_stream(array, args, node, state)
            return UNKNOWN
        if name in words.SPLIT_FUNCTIONS:
            return self.rows(array, node, state)
        if name in (words.TENSOR_VIEWS if array.face == "tensor" else words.ARRAY_VIEWS):
            if name == "numpy" and array.buffer.where is Where.DEVICE:
                self.wait_stream(state, state.stream)
                return one(self.new_array(node, state, face="array", where=Where.HOST))
            return one(self.view_method(array, name, node, state))
        if self._writes(array, name):
            for value in args:
                self.read(value, state, node, f"read by `{name}`")
            self.write(here, state, node, f"written by `{name}`")
            return here
        return self._computes(array, name, args, kwargs, node, state)

    def _moving(
        self,
        here: Values,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if name == "copy_":
            source = args[0] if args else kwargs.get("src", kwargs.get("other", UNKNOWN))
            self.copy_into(here, source, self.async_flag(args, kwargs, 1), node, state)
            return here
        if name == "to":
            return self.convert(here, args, kwargs, node, state)
        if name in ("cuda", "npu", "xpu", "hpu"):
            flag = self.async_flag(args, kwargs, 1)
            return self.move(here, "device", None, flag, False, node, state)
        if name == "cpu":
            return self.move(here, "cpu", None, None, False, node, state)
        if name == "pin_memory":
            return self.pin(here, node, state)
        return None

    def view_method(self, array: Array, name: str, node: ast.expr, state: State) -> Array:
        """``array.view(...)`` and every other method that shares the memory."""
        face = array.face
        if name in ("numpy", "__array__"):
            face = "array"
        elif name == "toreadonly":
            face = "memory"
        if name in words.KEEP_SHAPE_STEPS or name in ("requires_grad_", "contiguous"):
            region, ndim = array.region, array.ndim
        elif name in ("narrow", "select") and isinstance(node, ast.Call):
            region, ndim = (*array.region, self._narrow(name, node, state)), None
        else:
            region, ndim = _reshaped(array.region), None
        step = "face" if region == array.region else "slice"
        cut = Cut(node, self.place_in_file(node), step)
        return replace(array, face=face, region=region, cut=cut, ndim=ndim)

    def _narrow(self, name: str, node: ast.Call, state: State) -> Selector:
        """``narrow(0, start, n)`` and ``select(0, i)`` as index steps."""
        rest = node.args[1:]
        along_first = node.args and isinstance(node.args[0], ast.Constant)
        if not along_first or node.args[0].value != 0 or not rest:  # type: ignore[attr-defined]
            return One(Key("?", (stamp(),)))
        start = self.key(rest[0], state)
        if name == "select":
            return One(start)
        if len(rest) < 2:
            return One(Key("?", (stamp(),)))
        length = self.key(rest[1], state)
        if start.value == 0:
            return Run(None, length)
        end = None
        if start.value is not None and length.value is not None:
            end = start.value + length.value
        versions = (*start.versions, *length.versions)
        return Run(start, Key(f"{start.text} + {length.text}", versions, end))

    def rows(self, array: Array, node: ast.expr, state: State) -> Values:
        """A list of views, as ``unbind``, ``split`` and ``chunk`` return."""
        site = self.site(node) + ":rows"
        state.clear(site)
        cut = Cut(node, self.place_in_file(node), "slice")
        region = (*array.region, One(Key("?", (stamp(),))))
        row = replace(array, region=region, cut=cut, ndim=None)
        state.store(site, "*", one(row))
        return one(Obj(site, "rows"))

    def _writes(self, array: Array, name: str) -> bool:
        if array.face == "tensor":
            in_place = name.endswith("_") and not name.endswith("__")
            return (in_place and name not in words.NO_WRITE_UNDERSCORE) or name == "__setitem__"
        return name in words.NUMPY_WRITES or name in ("__setitem__", "__iadd__")

    def _computes(
        self,
        array: Array,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        side = array.buffer.where
        on_host = array.face != "tensor" or side is Where.HOST
        if name in words.HOST_WAITS_ON_DEVICE and not on_host:
            self.wait_stream(state, state.stream, certain=side is Where.DEVICE)
        dtype = words.DTYPE_CASTS.get(name)
        if name == "astype":
            dtype = dtype_of(args[0] if args else kwargs.get("dtype"))
            copying = constant(kwargs.get("copy", UNKNOWN))
            if copying is None or copying.value is not False:
                dtype = "?"
        if dtype is not None and on_host and dtype == array.buffer.dtype:
            return one(array)
        self.read(one(array), state, node, f"read by `{name}`")
        for value in (*args, *kwargs.values()):
            self.read(value, state, node, f"read by `{name}`")
        if name in ("item", "tolist", "tobytes", "__len__", "index"):
            return NUMBER if name == "item" else UNKNOWN
        if name in words.NEW_METHODS:
            return self.factory(name, args, kwargs, node, state, like=array)
        keep = name in ("clone", "copy", "astype") or dtype is not None
        return one(
            self.new_array(
                node,
                state,
                face=array.face if array.face != "memory" else "array",
                where=Where.HOST if on_host else side,
                dtype=array.buffer.dtype if name in ("clone", "copy") else dtype,
                ndim=array.ndim if keep else None,
            )
        )

    def factory(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
        like: Array | None = None,
    ) -> Values:
        raise NotImplementedError

    def _record_stream(
        self, array: Array, args: list[Values], node: ast.Call, state: State
    ) -> None:
        for atom in args[0] if args else ():
            if not isinstance(atom, Stream):
                continue
            own = atom.token == array.buffer.stream and atom.token not in ("main", "")
            if own and array.buffer in state.fresh and array.buffer.where is not Where.HOST:
                text = " ".join(ast.unparse(node).split())
                self.notice(OwnStreamRecord(self.spot(node), array, text))


def _reshaped(region: Region) -> Region:
    return region if region and isinstance(region[-1], All) else (*region, All())
