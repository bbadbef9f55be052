"""The file set: classes that hold pinned memory, found by name from other files."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import PurePath

from pinlab.detect.lint.flow.modules import ClassInfo, FunctionNode, ModuleInfo, survey
from pinlab.detect.lint.flow.relevance import Relevance, holds_pinned
from pinlab.detect.lint.source import read_source


class Project:
    """Which file of the set defines which buffer-holding class.

    `table` maps a class name to the files that define it. Files are parsed on first use. With
    `everything` no function is left out as irrelevant.

    >>> Project({}).find_class("vllm.utils.CpuGpuBuffer") is None
    True
    """

    def __init__(self, table: dict[str, list[str]], everything: bool = False) -> None:
        self._table = table
        self._everything = everything
        self._modules: dict[str, ModuleInfo | None] = {}
        self._ancestry: dict[ClassInfo, list[ClassInfo]] = {}
        self._relevance: dict[ModuleInfo, Relevance | None] = {}

    def __repr__(self) -> str:
        return f"<Project of {len(self._table)} buffer classes>"

    def adopt(self, module: ModuleInfo) -> None:
        """Use `module`, already parsed, for its path; others are not kept."""
        if any(module.path in paths for paths in self._table.values()):
            self._modules[module.path] = module

    def relevance(self, module: ModuleInfo) -> Relevance:
        """Which functions of `module` matter, given the classes that it takes from elsewhere."""
        known = self._relevance.get(module)
        if known is None:
            self._relevance[module] = None
            known = Relevance(module, self._foreign_names(module), self._everything)
            self._relevance[module] = known
        return known

    def forget(self, module: ModuleInfo) -> None:
        """Drop what was computed for a module that no other file refers to."""
        if self._modules.get(module.path) is not module:
            self._relevance.pop(module, None)
            self._ancestry = {c: o for c, o in self._ancestry.items() if c.module is not module}

    def _foreign_names(self, module: ModuleInfo) -> set[str]:
        names: set[str] = set()
        for alias, dotted in module.imports.items():
            cls = self.find_class(dotted)
            if cls is None or cls.module is module:
                continue
            names |= {alias, cls.name, f"{alias}()"}
            if self._relevance.get(cls.module, True) is not None:
                names |= self.relevance(cls.module).hot
        return names

    def find_class(self, dotted: str) -> ClassInfo | None:
        """The class that an import of `dotted` means, or None if that is not certain."""
        stem, _, name = dotted.rpartition(".")
        paths = self._table.get(name, [])
        if len(paths) > 1:
            paths = [path for path in paths if _is_module(path, stem)]
        if len(paths) != 1:
            return None
        module = self._load(paths[0])
        return module.classes.get(name) if module is not None else None

    def ancestry(self, cls: ClassInfo) -> list[ClassInfo]:
        """`cls` and its known bases, nearest first, each once."""
        known = self._ancestry.get(cls)
        if known is not None:
            return known
        order: list[ClassInfo] = []
        queue = [cls]
        while queue and len(order) < 20:
            head = queue.pop(0)
            if head in order:
                continue
            order.append(head)
            bases = (self._base(node, head) for node in head.node.bases)
            queue.extend(base for base in bases if base is not None)
        self._ancestry[cls] = order
        return order

    def method(self, cls: ClassInfo, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """Where `name` is defined for instances of `cls`, and its function."""
        for owner in self.ancestry(cls):
            if name in owner.methods:
                return owner, owner.methods[name]
        return None

    def _base(self, node: ast.expr, cls: ClassInfo) -> ClassInfo | None:
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            here = cls.module.classes.get(node.id)
            if here is not None and here is not cls:
                return here
            return self.find_class(cls.module.imports.get(node.id, node.id))
        return self.find_class(ast.unparse(node)) if isinstance(node, ast.Attribute) else None

    def _load(self, path: str) -> ModuleInfo | None:
        if path not in self._modules:
            source = read_source(path)
            self._modules[path] = survey(path, source.tree) if source.tree is not None else None
        return self._modules[path]


def buffer_classes(tree: ast.Module) -> Iterable[str]:
    """The names of a module's classes that pin memory and keep it."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and holds_pinned(node):
            yield node.name


def _is_module(path: str, dotted: str) -> bool:
    parts = list(PurePath(path).with_suffix("").parts)
    if parts and parts[-1] == "__init__":
        parts.pop()
    want = [part for part in dotted.split(".") if part]
    return bool(want) and parts[-len(want) :] == want
