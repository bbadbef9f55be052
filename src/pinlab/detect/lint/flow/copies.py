"""Copies between host and device: ``copy_``, ``to``, ``cuda``, ``cpu``, ``pin_memory``."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Array,
    Values,
    arrays,
    constant,
    one,
)
from pinlab.detect.lint.flow.buffer import Pinned, Where
from pinlab.detect.lint.flow.memory import Memory
from pinlab.detect.lint.flow.sides import device_side, dtype_of
from pinlab.detect.lint.flow.state import State


class Copies(Memory):
    """The copy table of the simulated device's design, read off the source text."""

    def async_flag(
        self, args: list[Values], kwargs: dict[str, Values], position: int
    ) -> bool | None:
        """``True``: surely non-blocking; ``False``: by a variable; ``None``: blocking."""
        values = kwargs.get("non_blocking", kwargs.get("async_op"))
        if values is None:
            if len(args) <= position:
                return None
            values = args[position]
        literal = constant(values)
        if literal is None:
            return False
        return True if literal.value else None

    def copy_into(
        self,
        target: Values,
        source: Values,
        flag: bool | None,
        node: ast.Call,
        state: State,
    ) -> None:
        """``target.copy_(source, non_blocking=flag)``."""
        sources = arrays(source)
        targets = arrays(target)
        origins = {array.buffer for array in sources}
        if flag is not None and targets and origins.issuperset(t.buffer for t in targets):
            # Nobody asks for a late copy of a buffer onto itself: the target is meant to be
            # the device's, which on a CPU is the host's.
            return
        host_targets = [t for t in targets if t.buffer.where is Where.HOST]
        if targets and len(host_targets) == len(targets):
            self._into_host(host_targets, source, flag, node, state)
            return
        for array in sources:
            if array.buffer.where is not Where.HOST:
                continue
            if flag is None:
                self.read(one(array), state, node, "uploaded")
                # A blocking upload returns when its stream has got there.
                self.wait_stream(state, state.stream, certain=bool(targets))
            elif array.buffer.maybe_pinned:
                self.upload(array, state, node, sure=flag)
        on_device = any(array.buffer.where is Where.DEVICE for array in targets)
        for array in targets:
            # "The device tensor, or on a CPU the host tensor itself": no host write is meant.
            if not on_device:
                self.write(one(array), state, node, "written by `copy_`")

    def _into_host(
        self,
        targets: list[Array],
        source: Values,
        flag: bool | None,
        node: ast.Call,
        state: State,
    ) -> None:
        sides = {array.buffer.where for array in arrays(source)}
        if sides == {Where.HOST}:
            self.read(source, state, node, "copied by `copy_`")
            self.write(frozenset(targets), state, node, "written by `copy_`")
            return
        for array in targets:
            if flag is not None and array.buffer.maybe_pinned:
                self.download(array, state, node, sure=flag)
                continue
            if Where.DEVICE in sides:
                self.wait_stream(state, state.stream)
            self.write(one(array), state, node, "written by `copy_`")

    def convert(
        self,
        receiver: Values,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """``receiver.to(...)``."""
        side, dtype = self._destination(args, kwargs, node)
        flag = self.async_flag(args, kwargs, 2 if side and len(args) > 2 else 1)
        copy = constant(kwargs.get("copy", UNKNOWN))
        forced = copy is not None and copy.value is True
        return self.move(receiver, side, dtype, flag, forced, node, state)

    def move(
        self,
        receiver: Values,
        side: str,
        dtype: str | None,
        flag: bool | None,
        forced: bool,
        node: ast.Call,
        state: State,
    ) -> Values:
        """To ``"cpu"``, to a ``"device"``, or ``""``: same side, perhaps another dtype."""
        found = arrays(receiver)
        if not found:
            return self._move_unknown(side, flag, node, state)
        result: set[Array] = set()
        for array in found:
            if array.buffer.where is Where.HOST:
                result.add(self._move_host(array, side, dtype, flag, forced, node, state))
            else:
                result |= arrays_of(self._move_device(array, side, flag, node, state))
        return frozenset(result)

    def _move_host(
        self,
        array: Array,
        side: str,
        dtype: str | None,
        flag: bool | None,
        forced: bool,
        node: ast.Call,
        state: State,
    ) -> Array:
        if side != "device":
            if not forced and (dtype is None or dtype == array.buffer.dtype):
                # Already there: `.to()` and `.cpu()` return the same tensor.
                return array
            self.read(one(array), state, node, "converted")
            return self.new_array(node, state, where=Where.HOST, dtype=dtype, ndim=array.ndim)
        if flag is None:
            self.read(one(array), state, node, "uploaded")
            self.wait_stream(state, state.stream)
        elif array.buffer.maybe_pinned:
            self.upload(array, state, node, sure=flag)
        return self.new_array(node, state, where=Where.DEVICE, dtype=dtype, ndim=array.ndim)

    def _move_device(
        self, array: Array, side: str, flag: bool | None, node: ast.Call, state: State
    ) -> Values:
        if side == "cpu":
            certain = array.buffer.where is Where.DEVICE
            return self._to_host(flag, node, state, array.ndim, certain=certain)
        where = Where.DEVICE if side == "device" else array.buffer.where
        return one(self.new_array(node, state, where=where, ndim=array.ndim))

    def _move_unknown(self, side: str, flag: bool | None, node: ast.Call, state: State) -> Values:
        if side == "cpu":
            return self._to_host(flag, node, state, None, certain=False)
        if side == "device":
            return one(self.new_array(node, state, where=Where.DEVICE))
        return UNKNOWN

    def _to_host(
        self, flag: bool | None, node: ast.Call, state: State, ndim: int | None, *, certain: bool
    ) -> Values:
        """``.to("cpu")`` waits; with ``non_blocking`` it fills a new pinned tensor later."""
        if flag is None:
            self.wait_stream(state, state.stream, certain=certain)
            return one(self.new_array(node, state, where=Where.HOST, ndim=ndim))
        pinned = Pinned.YES if flag else Pinned.MAYBE
        result = self.new_array(node, state, where=Where.HOST, pinned=pinned, ndim=ndim)
        result.buffer.origin = "download"
        self.download(result, state, node, sure=flag)
        return one(result)

    def pin(self, receiver: Values, node: ast.Call, state: State) -> Values:
        """``receiver.pin_memory()``: the same tensor if it is pinned, else a pinned copy."""
        result: set[Array] = set()
        for array in arrays(receiver):
            if array.buffer.pinned is Pinned.YES and array.face == "tensor":
                result.add(array)
            else:
                self.read(one(array), state, node, "copied by `pin_memory`")
        if len(result) < max(1, len(arrays(receiver))):
            ndims = {array.ndim for array in arrays(receiver)}
            dtypes = {array.buffer.dtype for array in arrays(receiver)}
            fresh = self.new_array(
                node,
                state,
                where=Where.HOST,
                pinned=Pinned.YES,
                ndim=ndims.pop() if len(ndims) == 1 else None,
                dtype=dtypes.pop() if len(dtypes) == 1 else None,
            )
            result.add(fresh)
        return frozenset(result)

    def _destination(
        self, args: list[Values], kwargs: dict[str, Values], node: ast.Call
    ) -> tuple[str, str | None]:
        dtype = dtype_of(kwargs.get("dtype"))
        side = ""
        if "dtype" in kwargs and dtype is None:
            dtype = "?"
        if "device" in kwargs:
            side = device_side(kwargs["device"])
        elif args and node.args and not isinstance(node.args[0], ast.Starred):
            named = dtype_of(args[0])
            if named is not None:
                dtype = named
            elif "dtype" in ast.unparse(node.args[0]).rpartition(".")[2]:
                dtype = "?"
            else:
                side = device_side(args[0])
        if len(args) > 1 and side:
            dtype = dtype or dtype_of(args[1])
        return side, dtype


def arrays_of(values: Values) -> set[Array]:
    return set(arrays(values))
