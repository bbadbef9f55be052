"""Comprehensions: their own scope, a body that runs many times."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import Array, Obj, Values, one
from pinlab.detect.lint.flow.expressions import Expressions
from pinlab.detect.lint.flow.state import Env, State


class Comprehensions(Expressions):
    """List, set, dict comprehensions and generator expressions."""

    def expr_ListComp(self, node: ast.ListComp, state: State) -> Values:
        return self._comprehend(node, node.elt, node.generators, "list", state)

    def expr_SetComp(self, node: ast.SetComp, state: State) -> Values:
        return self._comprehend(node, node.elt, node.generators, "list", state)

    def expr_GeneratorExp(self, node: ast.GeneratorExp, state: State) -> Values:
        return self._comprehend(node, node.elt, node.generators, "list", state)

    def expr_DictComp(self, node: ast.DictComp, state: State) -> Values:
        return self._comprehend(node, node.value, node.generators, "dict", state)

    def _comprehend(
        self,
        node: ast.expr,
        element: ast.expr,
        generators: list[ast.comprehension],
        kind: str,
        state: State,
    ) -> Values:
        outer = state.env
        state.envs.append(Env(dict(outer.names), dict(outer.versions), outer.entry))
        once = True
        try:
            for generator in generators:
                source = self.evaluate(generator.iter, state)
                self.read(source, state, generator.iter, "read by iterating")
                once = once and _single(source, state)
                self.assign(generator.target, self.elements(source, generator.iter, state), state)
                for test in generator.ifs:
                    self.read(self.evaluate(test, state), state, test, "tested")
            if isinstance(node, ast.DictComp):
                self.evaluate(node.key, state)
            before = state.fresh
            values = self.evaluate(element, state)
            made = state.fresh - before
        finally:
            inner = state.envs.pop()
            for name in _walrus_names(element):
                if name in inner.names:
                    outer.bind(name, inner.names[name])
        if not once:
            for atom in self.flatten(values, state):
                if isinstance(atom, Array) and atom.buffer in made:
                    atom.buffer.many = True
        obj = self.container(node, kind, state)
        state.store(obj.site, "[0]" if once and kind == "list" else "*", values)
        return one(obj)


def _single(source: Values, state: State) -> bool:
    """``range(1)``: the list that it builds has one element."""
    return len(source) == 1 and all(
        isinstance(atom, Obj) and atom.kind == "range" and bool(state.load(atom.site, "once"))
        for atom in source
    )


def _walrus_names(element: ast.expr) -> list[str]:
    return [
        part.target.id
        for part in ast.walk(element)
        if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name)
    ]
