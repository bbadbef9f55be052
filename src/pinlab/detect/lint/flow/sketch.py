"""A sketch of a function: the words in it, and what is assigned from what."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from pinlab.detect.lint.flow import vocabulary
from pinlab.detect.lint.flow.modules import FunctionNode
from pinlab.detect.lint.flow.seeds import Rows, allocates_pinned
from pinlab.detect.lint.flow.trees import nodes

PIN = "@pin"
"""Stands among the words of an expression for a call that allocates pinned memory."""
CPU = "'cpu'"


@dataclass(slots=True)
class Flow:
    """``targets = … words …``: locals by name, attributes by the last word."""

    locals: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Sketch:
    """What one function, or the module's own code (no name), mentions; its flows on demand.

    `calls`: functions and the function's own methods; `methods`: called on whatever object.
    """

    name: str
    roots: list[ast.AST]
    words: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    swaps: bool = False
    is_property: bool = False
    flows: list[Flow] | None = None
    returns: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, name: str, roots: list[ast.AST]) -> Sketch:
        """Read the words and the calls."""
        sketch = cls(name, roots)
        rows = Rows()
        for root in roots:
            for node in nodes(root):
                word = word_of(node)
                if word:
                    sketch.words.add(word)
                if node.__class__ is ast.Call:
                    sketch.calls.add(_callee(node))
                    if node.func.__class__ is ast.Attribute:
                        sketch.methods.add(node.func.attr)
                elif node.__class__ is ast.Assign:
                    rows.note(node)
        sketch.swaps = rows.swapped
        return sketch

    @classmethod
    def of_function(cls, node: FunctionNode) -> Sketch:
        sketch = cls.of(node.name, [node])
        sketch.is_property = any("property" in ast.unparse(d) for d in node.decorator_list)
        return sketch

    def all_flows(self) -> list[Flow]:
        """The assignments, read on the first call."""
        if self.flows is None:
            self.flows = []
            for root in self.roots:
                for node in nodes(root):
                    self._collect(node)
        return self.flows

    def _collect(self, node: ast.AST) -> None:
        assert self.flows is not None
        if isinstance(node, ast.Assign):
            self.flows.append(_flow(node.targets, node.value))
        elif isinstance(node, ast.AnnAssign):
            flow = _flow([node.target], node.value)
            flow.words |= words_of(node.annotation)
            self.flows.append(flow)
        elif isinstance(node, ast.NamedExpr):
            self.flows.append(_flow([node.target], node.value))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self.flows.append(_flow([node.target], node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self.flows.append(_flow([node.optional_vars], node.context_expr))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            self.flows.append(Flow({node.arg}, set(), words_of(node.annotation)))
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None:
            self.returns |= words_of(node.value)
        elif isinstance(node, ast.Call):
            self._collect_call(node)

    def _collect_call(self, node: ast.Call) -> None:
        """``self.items.append(x)`` puts what `x` is into ``items``; so does ``setattr``."""
        assert self.flows is not None
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in vocabulary.STORERS:
            words = set().union(*(words_of(arg) for arg in node.args)) if node.args else set()
            self.flows.append(Flow(*_targets(func.value), words))
        elif isinstance(func, ast.Name) and func.id == "setattr" and len(node.args) == 3:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.flows.append(Flow(set(), {name.value}, words_of(node.args[2])))


def word_of(node: ast.AST) -> str:
    """``x`` for a name, ``.x`` for an attribute, ``x()`` for a call, ``x=`` for a keyword."""
    kind = node.__class__
    if kind is ast.Name:
        return node.id  # type: ignore[attr-defined, no-any-return]
    if kind is ast.Attribute:
        return f".{node.attr}"  # type: ignore[attr-defined]
    if kind is ast.Call:
        if allocates_pinned(node):
            return PIN
        func = node.func  # type: ignore[attr-defined]
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        return f"{name}()" if name else ""
    if kind is ast.keyword:
        return f"{node.arg}="  # type: ignore[attr-defined]
    if kind is ast.Constant:
        value = node.value  # type: ignore[attr-defined]
        return CPU if isinstance(value, str) and value.startswith("cpu") else ""
    return ""


def words_of(node: ast.AST) -> set[str]:
    """Every word of an expression."""
    found = {word_of(part) for part in nodes(node)}
    found.discard("")
    return found


def _callee(node: ast.Call) -> str:
    """The name in ``name(…)`` and ``self.name(…)``; the empty string for other calls."""
    func = node.func
    if isinstance(func, ast.Name):
        return func.id
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return func.attr if func.value.id in ("self", "cls") else ""
    return ""


def _flow(targets: list[ast.expr], value: ast.expr | None) -> Flow:
    flow = Flow(words=words_of(value) if value is not None else set())
    for target in targets:
        names, attributes = _targets(target)
        flow.locals |= names
        flow.attributes |= attributes
    return flow


def _targets(target: ast.expr) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    attributes: set[str] = set()
    stack: list[ast.expr] = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Tuple | ast.List):
            stack.extend(node.elts)
        elif isinstance(node, ast.Subscript | ast.Starred):
            stack.append(node.value)
    return names, attributes
