"""Calls: who is called, and what that does."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Array,
    Atom,
    Cls,
    Const,
    Event,
    Func,
    Lib,
    Obj,
    Stream,
    Values,
    one,
)
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.unknown import UnknownCalls

ARRAY_LIBRARIES = frozenset({"torch", "numpy"})


class Calls(UnknownCalls):
    """Dispatch of a call by what its callee may be."""

    def call(self, node: ast.Call, state: State) -> Values:
        if isinstance(node.func, ast.Attribute):
            upper = self._super_call(node, state)
            if upper is not None:
                return upper
            base = self.evaluate(node.func.value, state)
            args, kwargs = self.arguments(node, state)
            return self._method_call(base, node.func.attr, args, kwargs, node, state)
        callee = self.evaluate(node.func, state)
        args, kwargs = self.arguments(node, state)
        return self.call_values(callee, args, kwargs, node, state)

    def arguments(self, node: ast.Call, state: State) -> tuple[list[Values], dict[str, Values]]:
        """The values of the arguments, in order."""
        args: list[Values] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.append(self.elements(self.evaluate(arg.value, state), arg, state))
            else:
                args.append(self.evaluate(arg, state))
        kwargs: dict[str, Values] = {}
        for keyword in node.keywords:
            values = self.evaluate(keyword.value, state)
            if keyword.arg is None:
                groups = [
                    inner
                    for atom in values
                    if isinstance(atom, Obj)
                    for _, inner in state.contents(atom.site)
                ]
                values = frozenset().union(*groups)
            kwargs[keyword.arg or "**"] = values
        return args, kwargs

    def call_values(
        self,
        callee: Values,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """A call through a plain name."""
        result: set[Atom] = set()
        known = False
        for atom in callee:
            values = self._call_atom(atom, args, kwargs, node, state)
            if values is not None:
                known = True
                result |= values
        if known:
            return frozenset(result)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return self.unknown_call(name, args, kwargs, node, state)

    def _call_atom(
        self,
        atom: Atom,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if isinstance(atom, Func):
            self.frame.called_locals.add(id(atom.node))
            given = [*args, *kwargs.values()]
            if not self.can_follow(atom) or not self.worth_following(atom, given, state):
                return None
            return self.invoke(atom, args, kwargs, state, node)
        if isinstance(atom, Cls):
            if len(self.frames) > 4:
                return None
            return self.instantiate(atom.info, args, kwargs, state, node)
        if isinstance(atom, Lib):
            return self.call_lib(atom.name, args, kwargs, node, state)
        if isinstance(atom, Obj) and atom.cls is not None:
            found = self.project.method(atom.cls, "__call__")
            if found is not None:
                func = self.bind(found[0], found[1], atom)
                return self.invoke(func, args, kwargs, state, node)
        return None

    def call_lib(
        self,
        dotted: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        """A call of an imported or built-in function."""
        root, _, rest = dotted.partition(".")
        if root == "builtins":
            return self.builtin_call(rest, args, kwargs, node, state)
        last = dotted.rpartition(".")[2]
        if root in ARRAY_LIBRARIES:
            values = self.library_call(dotted, args, kwargs, node, state)
            if values is not None:
                return values
        return self.unknown_call(last, args, kwargs, node, state, dotted=dotted)

    def _method_call(
        self,
        base: Values,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        result: set[Atom] = set()
        known = False
        for atom in sorted(base, key=_order):
            values = self._method_of(atom, name, args, kwargs, node, state)
            if values is not None:
                known = True
                result |= values
        if known:
            return frozenset(result)
        return self.unknown_method(base, name, args, kwargs, node, state)

    def _method_of(
        self,
        atom: Atom,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if isinstance(atom, Array):
            return self.array_method(atom, name, args, kwargs, node, state)
        if isinstance(atom, Stream):
            return self.stream_method(atom, name, args, node, state)
        if isinstance(atom, Event):
            return self.event_method(atom, name, args, kwargs, state)
        if isinstance(atom, Lib):
            callee = self.resolve_lib(f"{atom.name}.{name}")
            values = [self._call_atom(each, args, kwargs, node, state) for each in callee]
            return values[0] if values else None
        if isinstance(atom, Const):
            # A method of a literal string or number: no wait, whatever it is called.
            return UNKNOWN if atom.value is not None else None
        if isinstance(atom, Obj):
            return self._object_method(atom, name, args, kwargs, node, state)
        if isinstance(atom, Cls):
            assert isinstance(node.func, ast.Attribute)
            callee = self.load_attribute(one(atom), name, node.func, state)
            if any(isinstance(each, Func) for each in callee):
                return self.call_values(callee, args, kwargs, node, state)
        return None

    def _object_method(
        self,
        obj: Obj,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        if obj.cls is None:
            return self.container_method(obj, name, args, kwargs, node, state)
        assert isinstance(node.func, ast.Attribute)
        callee = self.load_attribute(one(obj), name, node.func, state)
        results = [
            self._call_atom(each, args, kwargs, node, state)
            for each in callee
            if isinstance(each, Func | Cls | Lib)
        ]
        found = [values for values in results if values is not None]
        return frozenset().union(*found) if found else None

    def _super_call(self, node: ast.Call, state: State) -> Values | None:
        """``super().method(...)``."""
        assert isinstance(node.func, ast.Attribute)
        inner = node.func.value
        if not (isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)):
            return None
        frame = self.frame
        if inner.func.id != "super" or frame.cls is None or frame.owner is None:
            return None
        args, kwargs = self.arguments(node, state)
        for info in self.project.ancestry(frame.owner.cls or frame.cls):
            if info is frame.cls or node.func.attr not in info.methods:
                continue
            func = self.bind(info, info.methods[node.func.attr], frame.owner)
            return self.invoke(func, args, kwargs, state, node)
        return UNKNOWN


def _order(atom: Atom) -> str:
    return type(atom).__name__
