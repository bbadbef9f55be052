"""Python's own functions."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Const,
    Obj,
    Seq,
    Span,
    Values,
    arrays,
    constant,
    one,
)
from pinlab.detect.lint.flow.containers import Containers
from pinlab.detect.lint.flow.region import Key, Run
from pinlab.detect.lint.flow.state import State

NAMES = frozenset(
    """abs all any bool bytearray bytes callable complex dict dir divmod enumerate eval exec
    filter float format frozenset getattr globals hasattr hash hex id input int isinstance
    issubclass iter len list locals map max memoryview min next object oct open ord pow print
    property range repr reversed round set setattr slice sorted str sum super tuple type vars
    zip""".split()
)


class Builtins(Containers):
    """``len``, ``range``, ``print`` and the rest."""

    def builtin_call(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """The value of a call of the built-in `name`."""
        first = args[0] if args else UNKNOWN
        if name in ("len", "id", "isinstance", "hasattr", "callable", "type", "ord", "round"):
            return NUMBER if name in ("len", "ord", "round") else UNKNOWN
        if name == "range":
            return self._range(args, node, state)
        if name == "slice":
            return self._slice_object(args, node, state)
        if name == "memoryview":
            return self.shared(first, name, "memory", node, state) if arrays(first) else UNKNOWN
        if name in ("getattr", "setattr"):
            return self._by_name(name, args, node, state)
        if name in ("enumerate", "zip", "iter", "reversed", "list", "tuple", "sorted"):
            return self._sequence(name, args, node, state)
        if name == "dict":
            return self._dict_object(args, kwargs, node, state)
        if name in words.READS_FIRST:
            for value in args:
                self.read_inside(value, state, node, f"read by `{name}`")
            return NUMBER if name in ("int", "float", "bool") else UNKNOWN
        return UNKNOWN

    def _range(self, args: list[Values], node: ast.Call, state: State) -> Values:
        obj = self.container(node, "range", state)
        literal = constant(args[0]) if len(args) == 1 else None
        if literal is not None and literal.value == 1:
            state.store(obj.site, "once", one(Const.of(True)))
        return one(obj)

    def _slice_object(self, args: list[Values], node: ast.Call, state: State) -> Values:
        keys: list[Key | None] = []
        for arg, values in zip(node.args, args, strict=False):
            literal = constant(values)
            absent = literal is not None and literal.value is None
            keys.append(None if absent else self.key(arg, state))
        if len(keys) == 1:
            keys = [None, *keys]
        return one(Span(Run(*keys[:2]))) if len(keys) >= 2 else UNKNOWN

    def _by_name(self, name: str, args: list[Values], node: ast.Call, state: State) -> Values:
        """``getattr(x, "name")`` and ``setattr(x, "name", value)`` with a literal name."""
        literal = constant(args[1]) if len(args) > 1 else None
        if literal is None or not isinstance(literal.value, str):
            if name == "setattr" and len(args) > 2:
                self.store_escape(args[2], state, node, ast.unparse(node.args[0]), own=False)
            return UNKNOWN
        target = ast.Attribute(value=node.args[0], attr=literal.value, ctx=ast.Load())
        ast.copy_location(target, node)
        if name == "getattr":
            found = self.load_attribute(args[0], literal.value, target, state)
            return found | (args[2] if len(args) > 2 else UNKNOWN)
        if len(args) > 2:
            self.store_attribute(target, args[2], state)
        return UNKNOWN

    def _sequence(self, name: str, args: list[Values], node: ast.Call, state: State) -> Values:
        item: Values
        if name == "enumerate":
            item = one(Seq((NUMBER, self.elements(_first(args), node, state))))
        elif name == "zip":
            item = one(Seq(tuple(self.elements(value, node, state) for value in args)))
        else:
            item = self.elements(_first(args), node, state)
            rows = all(array.face == "tensor" for array in arrays(_first(args)))
            if name == "sorted" or not rows:
                # A list of a tensor's rows is a list of views.
                self.read(_first(args), state, node, f"read by `{name}`")
        obj = self.container(node, "list", state, name)
        state.store(obj.site, "*", item)
        return one(obj)

    def _dict_object(
        self, args: list[Values], kwargs: dict[str, Values], node: ast.Call, state: State
    ) -> Values:
        obj = self.container(node, "dict", state)
        for atom in _first(args):
            if isinstance(atom, Obj):
                for key, values in state.contents(atom.site):
                    state.store(obj.site, key, values, add=True)
        for key, values in kwargs.items():
            state.store(obj.site, f"[{key!r}]", values)
        return one(obj)


def _first(args: list[Values]) -> Values:
    return args[0] if args else UNKNOWN
