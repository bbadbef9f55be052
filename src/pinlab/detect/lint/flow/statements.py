"""Statements."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pinlab.detect.lint.flow.atoms import UNKNOWN, Cls, Func, Obj, Stream, Values, one
from pinlab.detect.lint.flow.branches import Branches
from pinlab.detect.lint.flow.joining import join
from pinlab.detect.lint.flow.modules import ClassInfo
from pinlab.detect.lint.flow.objects import class_site
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.vocabulary import waits_by_name


class Statements(Branches):
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

    # With -------------------------------------------------------------------------------

    def run_With(self, node: ast.With, state: State) -> None:
        self._with(node.items, node.body, state)

    def run_AsyncWith(self, node: ast.AsyncWith, state: State) -> None:
        self._with(node.items, node.body, state)

    def _with(self, items: list[ast.withitem], body: list[ast.stmt], state: State) -> None:
        if not items:
            self.run_block(body, state)
            return
        item, rest = items[0], items[1:]
        guard = self._generator_guard(item.context_expr, state)
        if guard is not None:
            self._through_generator(guard, item, rest, body, state)
            return
        values = self.evaluate(item.context_expr, state)
        stream = next((atom for atom in values if isinstance(atom, Stream)), None)
        before = state.stream
        if stream is not None:
            state.stream = stream.token
        entered = self._enter(values, "__enter__", item.context_expr, state)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered or values, state)
        earlier = set(map(id, self._left_early()))
        self._with(rest, body, state)
        for leaving in (*self._left_early(), state):
            if id(leaving) in earlier or (leaving is state and not state.alive):
                continue
            self._enter(values, "__exit__", item.context_expr, leaving)
            self._wait_at_exit(item.context_expr, leaving)
            leaving.stream = before

    def _left_early(self) -> list[State]:
        """The states that left the block by ``return``, ``break`` or ``continue``."""
        loops = [s for loop in self.frame.loops for s in (*loop.breaks, *loop.continues)]
        return [*self.frame.exits, *loops]

    def _enter(self, values: Values, name: str, node: ast.expr, state: State) -> Values:
        """``__enter__`` or ``__exit__`` of a known class."""
        for atom in values:
            if isinstance(atom, Obj) and atom.cls is not None:
                found = self.project.method(atom.cls, name)
                if found is not None:
                    return self.invoke(self.bind(found[0], found[1], atom), [], {}, state, node)
        return UNKNOWN

    def _wait_at_exit(self, node: ast.expr, state: State) -> None:
        """``with self.synchronize_input_prep():`` of unknown text waits at either end."""
        if isinstance(node, ast.Call):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if waits_by_name(name):
                self.wait_all(state)

    def _generator_guard(self, node: ast.expr, state: State) -> Func | None:
        """The function behind ``with self.guard():`` if it is a known context manager."""
        if not isinstance(node, ast.Call):
            return None
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return None
        self.silent += 1
        try:
            callee = self.evaluate(node.func, state.copy())
        finally:
            self.silent -= 1
        for atom in callee:
            if isinstance(atom, Func) and not isinstance(atom.node, ast.Lambda):
                frame = self.open_frame(atom, state, node)
                if frame.context_manager and self.can_follow(atom):
                    return atom
        return None

    def _through_generator(
        self,
        guard: Func,
        item: ast.withitem,
        rest: list[ast.withitem],
        body: list[ast.stmt],
        state: State,
    ) -> None:
        """Walk the generator; where it yields, walk the body of the ``with``."""
        call = item.context_expr
        assert isinstance(call, ast.Call)
        args, kwargs = self.arguments(call, state)
        outer = self.frame
        inner = self.open_frame(guard, state, call)
        base = state.copy()
        returned: list[int] = []

        def at_yield(inside: State) -> None:
            frame, env = self.frames.pop(), inside.envs.pop()
            yielded = frame.yields[-1] if frame.yields else UNKNOWN
            if item.optional_vars is not None:
                self.assign(item.optional_vars, yielded, inside)
            marks = len(outer.exits)
            try:
                self._with(rest, body, inside)
            finally:
                self.frames.append(frame)
            if not inside.alive and len(outer.exits) > marks:
                # The body returned: what follows the yield still runs on the way out.
                inside.become(outer.exits.pop().copy())
                returned.append(1)
            inside.envs.append(env)

        inner.on_yield = at_yield
        self.frames.append(inner)
        state.envs.append(self._env(guard, state))
        try:
            self.bind_parameters(guard, args, kwargs, state)
            assert not isinstance(guard.node, ast.Lambda)
            self.run_block(guard.node.body, state)
        finally:
            self.frames.pop()
        state.become(join(state, [*inner.exits, state.copy()]))
        state.envs = state.envs[: len(base.envs)]
        if returned and state.alive:
            outer.exits.append(state.copy())
            state.alive = False
