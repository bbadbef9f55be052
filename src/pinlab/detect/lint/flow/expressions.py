"""Expressions to values."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Atom,
    Cls,
    Const,
    Ext,
    Func,
    Lib,
    Number,
    Obj,
    Seq,
    Span,
    Values,
    arrays,
    one,
)
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.builtins import NAMES as BUILTIN_NAMES
from pinlab.detect.lint.flow.conditions import Conditions
from pinlab.detect.lint.flow.joining import join
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.subscripts import entry_name

# Names that need no import in a snippet.
CONVENTIONS = {"torch": "torch", "np": "numpy", "numpy": "numpy", "th": "torch"}
Handler = Callable[[ast.expr, State], Values]


class Expressions(Conditions):
    """One short method for each kind of expression node."""

    def evaluate(self, node: ast.expr, state: State) -> Values:
        handler: Handler | None = getattr(self, f"expr_{type(node).__name__}", None)
        return handler(node, state) if handler is not None else UNKNOWN

    def expr_Constant(self, node: ast.Constant, state: State) -> Values:
        value = node.value
        return UNKNOWN if value is Ellipsis else one(Const.of(value))

    def expr_Name(self, node: ast.Name, state: State) -> Values:
        return self.lookup(node.id, state)

    def lookup(self, name: str, state: State) -> Values:
        """A name: local, then of the module, then built in."""
        env = state.env.names
        if name in env and name not in self.frame.shared_names:
            return env[name]
        module = self.frame.module
        held = state.load(f"module:{module.path}", name)
        if held:
            return self.as_held(held)
        if name in module.imports:
            return self.resolve_lib(module.imports[name])
        if name in module.functions:
            return one(Func(module.functions[name], module))
        if name in module.classes:
            return one(Cls(module.classes[name]))
        if name in BUILTIN_NAMES:
            return one(Lib(f"builtins.{name}"))
        if name in CONVENTIONS:
            return one(Lib(CONVENTIONS[name]))
        return UNKNOWN

    def expr_Attribute(self, node: ast.Attribute, state: State) -> Values:
        base = self.evaluate(node.value, state)
        return self.load_attribute(base, node.attr, node, state)

    def expr_Call(self, node: ast.Call, state: State) -> Values:
        return self.call(node, state)

    def expr_Subscript(self, node: ast.Subscript, state: State) -> Values:
        result: set[Atom] = set()
        for atom in self.evaluate(node.value, state):
            if isinstance(atom, Array):
                result |= self.index_array(atom, node, state)
            elif isinstance(atom, Obj):
                result |= self.index_object(atom, node, state)
            elif isinstance(atom, Seq):
                result |= self.index_seq(atom, node)
            elif isinstance(atom, Ext):
                path = f"{atom.path}{entry_name(node.slice) or '[]'}"
                result |= state.load("ext", path) or one(Ext(path))
        if not isinstance(node.slice, ast.Slice):
            self.evaluate(node.slice, state)
        return frozenset(result)

    def expr_Slice(self, node: ast.Slice, state: State) -> Values:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.read(self.evaluate(part, state), state, part, "read as an index")
        return one(Span(self._slice(node, state)))

    def expr_BinOp(self, node: ast.BinOp, state: State) -> Values:
        left = self.evaluate(node.left, state)
        right = self.evaluate(node.right, state)
        return self._combined(left, right, node, state, "computed with")

    def _combined(
        self, left: Values, right: Values, node: ast.expr, state: State, how: str
    ) -> Values:
        operands = [*arrays(left), *arrays(right)]
        if operands:
            self.read(left, state, node, how)
            self.read(right, state, node, how)
            sides = {array.buffer.where for array in operands}
            side = next((s for s in (Where.DEVICE, Where.UNKNOWN) if s in sides), Where.HOST)
            faces = {array.face for array in operands}
            face = "tensor" if "tensor" in faces else "array"
            return one(self.new_array(node, state, face=face, where=side))
        if _numeric(left) and _numeric(right):
            return NUMBER
        lists = [a for a in left | right if isinstance(a, Obj) and a.kind == "list"]
        if lists:
            obj = self.container(node, "list", state)
            for item in lists:
                for _, values in state.contents(item.site):
                    state.store(obj.site, "*", values, add=True)
            return one(obj)
        return UNKNOWN

    def expr_UnaryOp(self, node: ast.UnaryOp, state: State) -> Values:
        values = self.evaluate(node.operand, state)
        if arrays(values):
            self.read(values, state, node, "computed with")
            return one(self.new_array(node, state, where=arrays(values)[0].buffer.where))
        literal = next(iter(values)) if len(values) == 1 else None
        if isinstance(literal, Const):
            if isinstance(node.op, ast.Not):
                return one(Const.of(not literal.value))
            if isinstance(node.op, ast.USub) and isinstance(literal.value, int | float):
                return one(Const.of(-literal.value))
        return UNKNOWN if isinstance(node.op, ast.Not) else values

    def expr_BoolOp(self, node: ast.BoolOp, state: State) -> Values:
        result: set[Atom] = set()
        for value in node.values:
            found = self.evaluate(value, state)
            self.read(found, state, value, "tested")
            result |= found
        return frozenset(result)

    def expr_Compare(self, node: ast.Compare, state: State) -> Values:
        values = self.evaluate(node.left, state)
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator, state)
            if isinstance(operator, ast.Is | ast.IsNot):
                values = UNKNOWN
            else:
                values = self._combined(values, right, node, state, "compared")
        return frozenset(atom for atom in values if isinstance(atom, Array))

    def expr_IfExp(self, node: ast.IfExp, state: State) -> Values:
        test = self.evaluate(node.test, state)
        self.read(test, state, node.test, "tested")
        known = self.decided(node.test, test, state)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse, state)
        base, other = state.copy(), state.copy()
        values = self.evaluate(node.body, state)
        otherwise = self.evaluate(node.orelse, other)
        state.become(join(base, [state.copy(), other]))
        return values | otherwise

    def expr_Starred(self, node: ast.Starred, state: State) -> Values:
        return self.evaluate(node.value, state)

    def expr_NamedExpr(self, node: ast.NamedExpr, state: State) -> Values:
        values = self.evaluate(node.value, state)
        self.assign(node.target, values, state)
        return values

    def expr_Await(self, node: ast.Await, state: State) -> Values:
        return self.evaluate(node.value, state)

    def expr_JoinedStr(self, node: ast.JoinedStr, state: State) -> Values:
        for value in node.values:
            self.evaluate(value, state)
        return UNKNOWN

    def expr_FormattedValue(self, node: ast.FormattedValue, state: State) -> Values:
        values = self.evaluate(node.value, state)
        self.read_inside(values, state, node, "formatted")
        return UNKNOWN

    def expr_Yield(self, node: ast.Yield, state: State) -> Values:
        values = self.evaluate(node.value, state) if node.value is not None else UNKNOWN
        frame = self.frame
        frame.yields.append(values)
        if frame.call is None:
            self.escape(values, state, node, "yielded")
            self.hand_on(values, state, node, "yielded")
        if frame.on_yield is not None:
            frame.on_yield(state)
        return UNKNOWN

    def expr_YieldFrom(self, node: ast.YieldFrom, state: State) -> Values:
        values = self.elements(self.evaluate(node.value, state), node, state)
        self.frame.yields.append(values)
        if self.frame.call is None:
            self.escape(values, state, node, "yielded")
        return UNKNOWN

    def expr_Lambda(self, node: ast.Lambda, state: State) -> Values:
        return one(self.closure(node, state))

    def closure(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, state: State
    ) -> Func:
        """A local function: it sees the names of the function that defines it."""
        number = self.frame.number
        self.closures[number] = state.env.copy()
        return Func(node, self.frame.module, None, None, number)


def _numeric(values: Values) -> bool:
    return bool(values) and all(
        isinstance(atom, Number)
        or (isinstance(atom, Const) and isinstance(atom.value, int | float))
        for atom in values
    )
