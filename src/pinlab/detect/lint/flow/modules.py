"""Modules and classes as the walk needs them: names, imports, methods, bases."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from pinlab.detect.lint.flow.seeds import Seeds
from pinlab.detect.lint.flow.trees import nodes

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class ClassInfo:
    """A class statement and its methods."""

    name: str
    node: ast.ClassDef
    module: ModuleInfo
    methods: dict[str, FunctionNode] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<ClassInfo {self.name} at {self.module.path}:{self.node.lineno}>"

    @property
    def is_dataclass(self) -> bool:
        """Fields become attributes: ``@dataclass``, ``@attrs.define``, ``NamedTuple``."""
        words = {decorator_name(d) for d in self.node.decorator_list}
        words |= {_last_name(base) for base in self.node.bases}
        return bool(words & {"dataclass", "define", "frozen", "mutable", "NamedTuple", "Struct"})


@dataclass(eq=False)
class ModuleInfo:
    """One parsed file. `called`: the names in calls of the form ``name(…)``."""

    path: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    functions: dict[str, FunctionNode] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    seeds: Seeds = field(default_factory=Seeds)

    def __repr__(self) -> str:
        return f"<ModuleInfo {self.path}: {len(self.classes)} classes>"


def decorator_name(node: ast.expr) -> str:
    """The last word of a decorator: ``contextmanager`` of ``@contextlib.contextmanager``."""
    return _last_name(node.func if isinstance(node, ast.Call) else node)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def survey(path: str, tree: ast.Module) -> ModuleInfo:
    """Names of a module: every import in it, its classes, its top-level functions."""
    module = ModuleInfo(path, tree)
    note = module.seeds.note
    for node in nodes(tree):
        note(node)
        if node.__class__ is ast.Call:
            if node.func.__class__ is ast.Name:
                module.called.add(node.func.id)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                module.imports[alias.asname or dotted] = dotted
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                prefix = f"{node.module}." if node.module else ""
                module.imports[alias.asname or alias.name] = prefix + alias.name
        elif isinstance(node, ast.ClassDef):
            module.classes.setdefault(node.name, _class(node, module))
    for statement in tree.body:
        if isinstance(statement, FunctionNode):
            module.functions[statement.name] = statement
    return module


def _class(node: ast.ClassDef, module: ModuleInfo) -> ClassInfo:
    """Methods under ``if TYPE_CHECKING:`` or ``try:`` count; those of nested classes do not."""
    info = ClassInfo(node.name, node, module)
    bodies: list[list[ast.stmt]] = [node.body]
    while bodies:
        for statement in bodies.pop():
            if isinstance(statement, FunctionNode):
                info.methods[statement.name] = statement
            elif isinstance(statement, ast.If | ast.Try):
                bodies.append(statement.orelse)
                bodies.append(statement.body)
    return info
