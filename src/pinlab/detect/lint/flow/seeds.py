"""The first words of every finding: pinned memory made, rows exchanged."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from pinlab.detect.lint.flow import vocabulary

FACTORIES = vocabulary.TORCH_FACTORIES | vocabulary.LIKE_FACTORIES | vocabulary.NEW_METHODS


@dataclass(slots=True)
class Rows:
    """Watches for rows exchanged: in one tuple assignment, or in three through a name."""

    taken: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    put_back: set[str] = field(default_factory=set)
    in_a_tuple: bool = False

    def note(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple):
            rows = [_container(item) for item in target.elts if isinstance(item, ast.Subscript)]
            self.in_a_tuple = self.in_a_tuple or len(set(rows)) < len(rows)
        elif isinstance(value, ast.Subscript) and isinstance(target, ast.Name):
            self.taken.add(_container(value))
        elif isinstance(target, ast.Subscript) and isinstance(value, ast.Name):
            self.put_back.add(_container(target))
        elif isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript):
            self.moved |= {_container(target)} & {_container(value)}

    @property
    def swapped(self) -> bool:
        return self.in_a_tuple or bool(self.taken & self.moved & self.put_back)


def allocates_pinned(node: ast.AST) -> bool:
    """``torch.zeros(…, pin_memory=p)`` or ``x.pin_memory()``, unless `p` is literally false."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name == "pin_memory":
        return isinstance(func, ast.Attribute)
    if name not in FACTORIES and name != "partial":
        return False
    return any(
        keyword.arg == "pin_memory"
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in node.keywords
    )


def _container(node: ast.Subscript) -> str:
    value = node.value
    if isinstance(value, ast.Attribute):
        return f".{value.attr}"
    return value.id if isinstance(value, ast.Name) else "?"


@dataclass(slots=True)
class Seeds:
    """Whether a module contains anything that a finding could begin with."""

    pins: bool = False
    records: bool = False
    asynchronous: bool = False
    names_cpu: bool = False
    rows: Rows = field(default_factory=Rows)

    def note(self, node: ast.AST) -> None:
        """Look at one node."""
        kind = node.__class__
        if kind is ast.Call:
            self.pins = self.pins or allocates_pinned(node)
            func = node.func  # type: ignore[attr-defined]
            self.records = self.records or getattr(func, "attr", "") == "record_stream"
        elif kind is ast.keyword:
            self.asynchronous = self.asynchronous or node.arg == "non_blocking"  # type: ignore[attr-defined]
        elif kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if value.__class__ is str and value.startswith("cpu"):
                self.names_cpu = True
        elif kind is ast.Assign:
            self.rows.note(node)  # type: ignore[arg-type]

    @property
    def any(self) -> bool:
        download = self.asynchronous and self.names_cpu
        return self.pins or self.records or download or self.rows.swapped
