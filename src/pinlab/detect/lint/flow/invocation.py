"""Following a call into a function whose text is known."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import UNKNOWN, Array, Const, Func, Number, Obj, Seq, Values, one
from pinlab.detect.lint.flow.core import INLINE_BUDGET, LEARNING_BUDGET, MAX_DEPTH, Frame
from pinlab.detect.lint.flow.joining import join
from pinlab.detect.lint.flow.modules import decorator_name
from pinlab.detect.lint.flow.objects import Objects
from pinlab.detect.lint.flow.state import Env, State, stamp

CONTEXT_WORDS = frozenset({"contextmanager", "asynccontextmanager"})
GENERATOR = (ast.Yield, ast.YieldFrom)


class Invocation(Objects):
    """Binds arguments, walks the body, brings back what is returned."""

    def worth_following(self, func: Func, given: list[Values], state: State) -> bool:
        """The function can matter, by what it mentions or by what it is given."""
        relevance = self.project.relevance(func.module)
        if func.closure or relevance.matters(func.node):
            return True
        if state.pending and relevance.waits(func.node):
            return True
        return any(
            isinstance(atom, Obj) or (isinstance(atom, Array) and _matters(atom))
            for values in given
            for atom in values
        )

    def can_follow(self, func: Func) -> bool:
        """Depth, recursion and the budget of the entry allow it."""
        budget = LEARNING_BUDGET if self.learning else INLINE_BUDGET
        if len(self.frames) > MAX_DEPTH or self.steps > budget:
            return False
        return all(frame.node is not func.node for frame in self.frames)

    def invoke(
        self,
        func: Func,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> Values:
        """The value of the call; the state goes through the body."""
        if not self.can_follow(func):
            return UNKNOWN
        frame = self.open_frame(func, state, node)
        env = self._env(func, state)
        self.frames.append(frame)
        state.envs.append(env)
        try:
            self.bind_parameters(func, args, kwargs, state)
            return self.run_function(func, frame, state, node)
        finally:
            self.frames.pop()
            state.envs.pop()

    def open_frame(self, func: Func, state: State, node: ast.AST | None) -> Frame:
        """A frame for `func`, called at `node`; None for an entry."""
        prefix = f"{self.site(node)}>" if node is not None and self.frames else ""
        marks = {decorator_name(d) for d in getattr(func.node, "decorator_list", [])}
        name = getattr(func.node, "name", "<lambda>")
        title = f"{func.cls.name}.{name}" if func.cls is not None else name
        constructing = name in ("__init__", "__post_init__", "__new__", "__setstate__")
        setup = constructing or bool(self.frames and self.frames[-1].setup)
        return Frame(
            module=func.module,
            title=title,
            node=func.node,
            cls=func.cls,
            owner=func.owner,
            call=node,
            prefix=prefix,
            number=stamp(),
            setup=setup,
            context_manager=bool(marks & CONTEXT_WORDS),
        )

    def _env(self, func: Func, state: State) -> Env:
        outer = self.closure_env(func, state) if func.closure else {}
        return Env(dict(outer))

    def run_function(self, func: Func, frame: Frame, state: State, node: ast.AST) -> Values:
        """Walk the body with its frame already open."""
        if isinstance(func.node, ast.Lambda):
            return self.evaluate(func.node.body, state)
        base = state.copy()
        self.run_block(func.node.body, state)
        states = [*frame.exits, *([state.copy()] if state.alive else [])]
        state.become(join(base, states))
        # A function that only raises leaves nothing behind, and the caller goes on unharmed.
        state.alive = True
        if frame.yields:
            return one(self.list_of(frame.yields, state, node))
        return frozenset().union(*frame.returns)

    def list_of(self, items: list[Values], state: State, node: ast.AST) -> Obj:
        """A list whose elements are any of `items`."""
        obj = Obj(f"{self.site(node)}:items", "list")
        state.clear(obj.site)
        state.store(obj.site, "*", frozenset().union(*items))
        return obj

    def bind_parameters(
        self, func: Func, args: list[Values], kwargs: dict[str, Values], state: State
    ) -> None:
        """Arguments to names; parameters without an argument by annotation and default."""
        spec = func.node.args
        names = [*spec.posonlyargs, *spec.args]
        given = list(args)
        if func.owner is not None and names and not isinstance(func.node, ast.Lambda):
            state.env.bind(names[0].arg, one(func.owner))
            names = names[1:]
        defaults = dict(zip([a.arg for a in names][::-1], spec.defaults[::-1], strict=False))
        for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if default is not None:
                defaults[arg.arg] = default
        for position, arg in enumerate([*names, *spec.kwonlyargs]):
            if arg.arg in kwargs:
                values = kwargs[arg.arg]
            elif position < len(given) and position < len(names):
                values = given[position]
            else:
                values = self._missing(arg, defaults.get(arg.arg), func, state)
            state.env.bind(arg.arg, values)
        if spec.vararg is not None:
            state.env.bind(spec.vararg.arg, one(Seq(tuple(given[len(names) :]))))
        if spec.kwarg is not None:
            known = {arg.arg for arg in [*names, *spec.kwonlyargs]}
            rest = [value for name, value in kwargs.items() if name not in known]
            state.env.bind(spec.kwarg.arg, one(self.list_of(rest, state, spec.kwarg)))

    def _missing(self, arg: ast.arg, default: ast.expr | None, func: Func, state: State) -> Values:
        """A parameter that this walk gives no argument."""
        followed = self.frame.call is not None and not self._stands_for_any_call(func)
        if default is not None and followed:
            return self.evaluate(default, state)
        if self.is_trusted(arg.arg):
            return self.trusted(arg.arg, arg)
        return self.annotated(arg.annotation, arg.arg, state, arg)

    def _stands_for_any_call(self, func: Func) -> bool:
        """True for a constructor walked to learn a class's attributes, with no real call."""
        return func.owner is not None and func.owner.outside and self.silent > 0


def _matters(array: Array) -> bool:
    return array.buffer.maybe_pinned or array.buffer.persistent


def truth(values: Values) -> bool | None:
    """What a condition must be, where the text tells."""
    if len(values) != 1:
        return None
    (atom,) = values
    return bool(atom.value) if isinstance(atom, Const) and atom.kind != "str" else None


__all__ = ["Invocation", "Number", "truth"]
