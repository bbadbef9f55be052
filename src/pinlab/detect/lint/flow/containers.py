"""Lists, dicts, tuples: what they hold, and what iterating over them gives."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Atom,
    Ext,
    Obj,
    Seq,
    Values,
    one,
)
from pinlab.detect.lint.flow.invocation import Invocation
from pinlab.detect.lint.flow.pending import EACH
from pinlab.detect.lint.flow.region import Key, One
from pinlab.detect.lint.flow.state import State, stamp
from pinlab.detect.lint.flow.subscripts import entry_name

GIVES_ELEMENT = frozenset("pop popleft get get_nowait popitem".split())


class Containers(Invocation):
    """Contents in and out."""

    def container(self, node: ast.AST, kind: str, state: State, tag: str = "") -> Obj:
        """A new, empty container made at `node`."""
        obj = Obj(f"{self.site(node)}:{kind}{tag}", kind)
        state.clear(obj.site)
        return obj

    def elements(self, values: Values, node: ast.expr, state: State) -> Values:
        """What a loop variable gets from iterating over `values`."""
        result: set[Atom] = set()
        for atom in values:
            result |= self._elements(atom, node, state)
        return frozenset(result)

    def _elements(self, atom: Atom, node: ast.expr, state: State) -> Values:
        if isinstance(atom, Seq):
            return frozenset().union(*atom.items)
        if isinstance(atom, Array):
            if atom.face == "tensor" or (atom.ndim or 1) > 1:
                return one(self.select(atom, node, One(Key("?", (stamp(),))), "int"))
            self.read(one(atom), state, node, "read by iterating")
            return NUMBER
        if isinstance(atom, Obj):
            if atom.kind == "range":
                return NUMBER
            return self._entries(atom, state)
        if isinstance(atom, Ext):
            return one(Ext(f"{atom.path}[]"))
        return UNKNOWN

    def _entries(self, obj: Obj, state: State) -> Values:
        groups = dict(state.contents(obj.site))
        if obj.kind == "dict":
            return UNKNOWN
        found = frozenset().union(*groups.values()) if obj.kind != "object" else UNKNOWN
        if not found and obj.outside:
            return one(Ext(f"{obj.title}[]"))
        several = obj.kind != "rows" and (len(groups) > 1 or "*" in groups)
        return self.in_slot(found, Key(EACH, (stamp(),)), always=True) if several else found

    def container_method(
        self,
        obj: Obj,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values | None:
        """A method of a list or dict; None if it is not a container's."""
        given = frozenset().union(*args, *kwargs.values())
        if name in words.STORERS:
            key = entry_name(node.args[0]) if name == "setdefault" and node.args else None
            spread = name in ("extend", "extendleft", "update")
            values = self.elements(given, node, state) if spread else given
            state.store(obj.site, key or "*", values, add=True)
            if obj.outside:
                own = self.owns(obj, state)
                target = f"{obj.title}.{name}(…)"
                if values and not (own and self.frame.setup):
                    self.store_escape(values, state, node, target, own=False)
            return given if name == "setdefault" else UNKNOWN
        if name in GIVES_ELEMENT:
            key = entry_name(node.args[0]) if node.args else None
            if key is not None and obj.kind == "dict":
                return state.load(obj.site, key) | state.load(obj.site, "*")
            return UNKNOWN
        if name == "values":
            return one(Obj(obj.site, "list", None, obj.outside, obj.title))
        if name == "copy":
            return one(obj)
        if name == "items":
            groups = [values for _, values in state.contents(obj.site)]
            inner = self.container(node, "list", state, "items")
            pair = Seq((UNKNOWN, frozenset().union(*groups)))
            state.store(inner.site, "*", one(pair))
            return one(inner)
        if name == "clear":
            state.clear(obj.site)
            return UNKNOWN
        return None

    def owns(self, obj: Obj, state: State) -> bool:
        """True if `obj` hangs directly on ``self``."""
        mine = self.self_site()
        return any(obj in values for _, values in state.contents(mine))

    def store_item(self, target: ast.Subscript, values: Values, state: State) -> None:
        """``base[index] = values``: bytes written, or a reference stored."""
        base = self.evaluate(target.value, state)
        sliced = isinstance(target.slice, ast.Slice | ast.Tuple)
        for atom in base:
            if isinstance(atom, Array):
                self._write_part(atom, target, values, state)
            elif isinstance(atom, Obj) and not sliced:
                self.evaluate(target.slice, state)
                key = entry_name(target.slice)
                state.store(atom.site, key or "*", values, add=key is None)
                if atom.outside:
                    title = ast.unparse(target)
                    self.store_escape(values, state, target, title, own=False)
            elif isinstance(atom, Ext):
                name = entry_name(target.slice)
                if name is not None and "'" in name:
                    self.store_escape(values, state, target, ast.unparse(target), own=False)
                elif not sliced:
                    self.evaluate(target.slice, state)
        if not base and isinstance(target.value, ast.Name) and not sliced:
            obj = self.container(target.value, "dict", state, target.value.id)
            state.env.put(target.value.id, one(obj))
            state.store(obj.site, entry_name(target.slice) or "*", values)

    def _write_part(
        self, array: Array, target: ast.Subscript, values: Values, state: State
    ) -> None:
        selector, kind = self.selector(target.slice, state)
        part = self.select(array, target, selector, kind)
        self.read(values, state, target, "copied by assignment")
        self.write(
            one(replace(part, cut=None, sure=array.sure)),
            state,
            target,
            "written by index assignment",
        )
