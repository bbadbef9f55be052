"""``with`` blocks: streams, guards with ``__enter__``, and generators that yield once."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import UNKNOWN, Func, Obj, Stream, Values
from pinlab.detect.lint.flow.branches import Branches
from pinlab.detect.lint.flow.joining import join
from pinlab.detect.lint.flow.state import State
from pinlab.detect.lint.flow.vocabulary import waits_by_name


class Contexts(Branches):
    """What a ``with`` statement does before and after its body."""

    def run_with(self, items: list[ast.withitem], body: list[ast.stmt], state: State) -> None:
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
        self.run_with(rest, body, state)
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
                self.run_with(rest, body, inside)
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
