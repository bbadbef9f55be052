"""``Class(...)``: instances of classes whose text is known."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.annotations import Annotations
from pinlab.detect.lint.flow.atoms import Func, Obj, Values, one
from pinlab.detect.lint.flow.modules import ClassInfo, decorator_name
from pinlab.detect.lint.flow.state import State


class Construction(Annotations):
    """Runs constructors, fills the fields of dataclasses."""

    def instantiate(
        self,
        cls: ClassInfo,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> Values:
        """``Class(...)`` of a class whose text is known."""
        obj = Obj(f"{self.site(node)}:{cls.name}", "object", cls, title=cls.name)
        state.clear(obj.site)
        self.construct(obj, cls, args, kwargs, state, node)
        return one(obj)

    def construct(
        self,
        obj: Obj,
        cls: ClassInfo,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> None:
        """Run the constructor of `cls` on `obj`."""
        found = self.project.method(cls, "__init__")
        if found is not None:
            owner, init = found
            self.invoke(Func(init, owner.module, owner, obj), args, kwargs, state, node)
        elif cls.is_dataclass:
            self._fill_fields(obj, cls, args, kwargs, state, node)
        else:
            for values in (*args, *kwargs.values()):
                state.store(obj.site, "*", values, add=True)
        post = self.project.method(cls, "__post_init__")
        if post is not None:
            self.invoke(Func(post[1], post[0].module, post[0], obj), [], {}, state, node)

    def _fill_fields(
        self,
        obj: Obj,
        cls: ClassInfo,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> None:
        fields: dict[str, ast.AnnAssign] = {}
        for info in reversed(self.project.ancestry(cls)):
            for statement in info.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    fields[statement.target.id] = statement
        for position, (name, statement) in enumerate(fields.items()):
            if name in kwargs:
                values = kwargs[name]
            elif position < len(args):
                values = args[position]
            elif statement.value is not None:
                values = self.field_value(statement.value, state)
            else:
                values = self.annotated(statement.annotation, f"{obj.title}.{name}", state, node)
            self.name_buffers(values, f"self.{name}", state)
            state.store(obj.site, name, values)

    def field_value(self, node: ast.expr, state: State) -> Values:
        """The default of a dataclass field, ``default_factory`` called."""
        if not isinstance(node, ast.Call):
            return self.evaluate(node, state)
        for keyword in node.keywords:
            if keyword.arg in ("default_factory", "factory"):
                return self._call_factory(keyword.value, state)
            if keyword.arg == "default":
                return self.evaluate(keyword.value, state)
        return self.evaluate(node, state)

    def _call_factory(self, factory: ast.expr, state: State) -> Values:
        if isinstance(factory, ast.Lambda):
            return self.evaluate(factory.body, state)
        args: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        called = factory
        if isinstance(factory, ast.Call) and decorator_name(factory) == "partial" and factory.args:
            called, args, keywords = factory.args[0], factory.args[1:], factory.keywords
        call = ast.Call(func=called, args=args, keywords=keywords)
        return self.evaluate(ast.copy_location(call, factory), state)
