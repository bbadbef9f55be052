"""Statements."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pinlab.detect.lint.flow.atoms import UNKNOWN, Cls, Func, one
from pinlab.detect.lint.flow.contexts import Contexts
from pinlab.detect.lint.flow.modules import ClassInfo
from pinlab.detect.lint.flow.objects import class_site
from pinlab.detect.lint.flow.state import State


class Statements(Contexts):
    """One short method for each kind of statement."""

    def run_block(self, body: list[ast.stmt], state: State) -> None:
        for statement in body:
            if not state.alive:
                return
            self.steps += 1
            handler: Callable[[ast.stmt, State], None] | None = getattr(
                self, f"run_{type(statement).__name__}", None
            )
            if handler is not None:
                handler(statement, state)

    def run_Expr(self, node: ast.Expr, state: State) -> None:
        self.evaluate(node.value, state)

    def run_Assign(self, node: ast.Assign, state: State) -> None:
        self.run_assign(node, state)

    def run_AnnAssign(self, node: ast.AnnAssign, state: State) -> None:
        values = self.evaluate(node.value, state) if node.value is not None else UNKNOWN
        weak = not values or all(type(atom).__name__ in ("Ext", "Const") for atom in values)
        if weak:
            path = ast.unparse(node.target)
            values |= self.annotated(node.annotation, path, state, node)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.assign(node.target, values, state)

    def run_AugAssign(self, node: ast.AugAssign, state: State) -> None:
        self.run_augmented(node, state)

    def run_Delete(self, node: ast.Delete, state: State) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                state.env.drop(target.id)

    def run_Return(self, node: ast.Return, state: State) -> None:
        values = self.evaluate(node.value, state) if node.value is not None else UNKNOWN
        frame = self.frame
        frame.returns.append(values)
        if frame.call is None:
            self.escape_return(values, state, node)
        frame.exits.append(state.copy())
        state.alive = False

    def run_Raise(self, node: ast.Raise, state: State) -> None:
        if node.exc is not None:
            self.evaluate(node.exc, state)
        state.alive = False

    def run_Assert(self, node: ast.Assert, state: State) -> None:
        self.read(self.evaluate(node.test, state), state, node.test, "tested")

    def run_Break(self, node: ast.Break, state: State) -> None:
        if self.frame.loops:
            self.frame.loops[-1].breaks.append(state.copy())
        state.alive = False

    def run_Continue(self, node: ast.Continue, state: State) -> None:
        if self.frame.loops:
            self.frame.loops[-1].continues.append(state.copy())
        state.alive = False

    def run_If(self, node: ast.If, state: State) -> None:
        self.run_if(node, state)

    def run_For(self, node: ast.For, state: State) -> None:
        self.run_for(node, state)

    def run_AsyncFor(self, node: ast.AsyncFor, state: State) -> None:
        self.run_for(node, state)

    def run_While(self, node: ast.While, state: State) -> None:
        self.run_while(node, state)

    def run_Match(self, node: ast.Match, state: State) -> None:
        self.run_match(node, state)

    def run_Try(self, node: ast.Try, state: State) -> None:
        self.run_try(node, state)

    def run_TryStar(self, node: ast.TryStar, state: State) -> None:
        self.run_try(node, state)

    # Definitions ------------------------------------------------------------------------

    def run_FunctionDef(self, node: ast.FunctionDef, state: State) -> None:
        self._define(node, state)

    def run_AsyncFunctionDef(self, node: ast.AsyncFunctionDef, state: State) -> None:
        self._define(node, state)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, state: State) -> None:
        if self.frame.node is None:
            state.env.bind(node.name, one(Func(node, self.frame.module)))
            return
        func = self.closure(node, state)
        state.env.bind(node.name, one(func))
        self.frame.local_functions.append(func)

    def run_ClassDef(self, node: ast.ClassDef, state: State) -> None:
        info = self.frame.module.classes.get(node.name)
        if info is None or info.node is not node:
            info = ClassInfo(node.name, node, self.frame.module)
        state.env.bind(node.name, one(Cls(info)))
        self.run_class_body(info, state)

    def run_class_body(self, info: ClassInfo, state: State) -> None:
        """Class attributes: they outlive every call."""
        for statement in info.node.body:
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign) and not info.is_dataclass:
                targets = [statement.target]
            if not targets or statement.value is None:  # type: ignore[attr-defined]
                continue
            values = self.evaluate(statement.value, state)  # type: ignore[attr-defined]
            for target in targets:
                if isinstance(target, ast.Name):
                    self.name_buffers(values, f"{info.name}.{target.id}", state)
                    state.store(class_site(info), target.id, values)

    def run_With(self, node: ast.With, state: State) -> None:
        self.run_with(node.items, node.body, state)

    def run_AsyncWith(self, node: ast.AsyncWith, state: State) -> None:
        self.run_with(node.items, node.body, state)
