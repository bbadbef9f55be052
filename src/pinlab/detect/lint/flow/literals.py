"""Tuples, lists, sets and dicts written out."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import (
    Seq,
    Values,
    one,
)
from pinlab.detect.lint.flow.calls import Calls
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.subscripts import entry_name


class Literals(Calls):
    """One short method for each kind of display."""

    def expr_Tuple(self, node: ast.Tuple, state: State) -> Values:
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return self._collection(node, "list", node.elts, state)
        return one(Seq(tuple(self.evaluate(item, state) for item in node.elts)))

    def expr_List(self, node: ast.List, state: State) -> Values:
        return self._collection(node, "list", node.elts, state)

    def expr_Set(self, node: ast.Set, state: State) -> Values:
        return self._collection(node, "list", node.elts, state)

    def _collection(self, node: ast.expr, kind: str, items: list[ast.expr], state: State) -> Values:
        obj = self.container(node, kind, state)
        for position, item in enumerate(items):
            if isinstance(item, ast.Starred):
                values = self.elements(self.evaluate(item.value, state), item, state)
                state.store(obj.site, "*", values, add=True)
            else:
                state.store(obj.site, f"[{position}]", self.evaluate(item, state))
        return one(obj)

    def expr_Dict(self, node: ast.Dict, state: State) -> Values:
        obj = self.container(node, "dict", state)
        for key, item in zip(node.keys, node.values, strict=True):
            values = self.evaluate(item, state)
            if key is None:
                for atom in values:
                    for name, inner in state.contents(getattr(atom, "site", "")):
                        state.store(obj.site, name, inner, add=True)
                continue
            self.evaluate(key, state)
            name_or_any = entry_name(key)
            state.store(obj.site, name_or_any or "*", values, add=name_or_any is None)
        return one(obj)
