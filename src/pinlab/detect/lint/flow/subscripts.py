"""Index expressions: which part they name, and whether indexing makes a view or a copy."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Const,
    Cut,
    Ext,
    Number,
    Obj,
    Seq,
    Span,
    Values,
    one,
)
from pinlab.detect.lint.flow.copies import Copies
from pinlab.detect.lint.flow.modules import ModuleInfo
from pinlab.detect.lint.flow.occurrences import Occurrence
from pinlab.detect.lint.flow.region import All, Dims, Key, One, Plain, Run, Selector
from pinlab.detect.lint.flow.state import State, stamp
from pinlab.detect.lint.project import Project

PURE_CALLS = frozenset({"len", "min", "max", "int"})
Kind = str
"""What an index does: ``"slice"`` and ``"int"`` make views (of tensors), ``"copy"`` copies,
``"unknown"`` may do either."""


@dataclass(frozen=True, slots=True)
class KeyParts:
    """What the identity of an index expression depends on."""

    text: str
    names: tuple[str, ...]
    paths: tuple[str, ...]
    impure: bool

    @classmethod
    def of(cls, node: ast.expr) -> KeyParts:
        parts = list(ast.walk(node))
        return cls(
            ast.unparse(node),
            tuple(sorted({part.id for part in parts if isinstance(part, ast.Name)})),
            tuple(sorted({ast.unparse(p) for p in parts if isinstance(p, ast.Attribute)})),
            any(isinstance(part, ast.Call) and not _is_pure(part) for part in parts),
        )


class Subscripts(Copies):
    """``x[index]``, read and written."""

    def __init__(
        self, module: ModuleInfo, project: Project, notice: Callable[[Occurrence], None]
    ) -> None:
        super().__init__(module, project, notice)
        self.key_parts: dict[ast.expr, KeyParts] = {}

    def key(self, node: ast.expr, state: State) -> Key:
        """The identity of an index expression at this point."""
        values = self.evaluate(node, state)
        if len(values) == 1:
            (atom,) = values
            if isinstance(atom, Const) and isinstance(atom.value, int):
                return Key(str(atom.value), (), int(atom.value))
        parts = self.key_parts.get(node)
        if parts is None:
            parts = self.key_parts[node] = KeyParts.of(node)
        versions = [self.version(name, state) for name in parts.names]
        versions += [state.attr_versions.get(path, self.epoch) for path in parts.paths]
        if parts.impure:
            versions.append(stamp())
        return Key(parts.text, tuple(versions))

    def version(self, name: str, state: State) -> int:
        """A number that changes whenever `name` is assigned."""
        env = state.env
        if name in env.names:
            return env.versions.get(name, env.entry)
        return self.epoch

    def selector(self, node: ast.expr, state: State) -> tuple[Selector, Kind]:
        """What ``[node]`` selects, and whether it makes a view."""
        if isinstance(node, ast.Tuple):
            parts = [self._plain(item, state) for item in node.elts]
            kinds = [kind for _, kind in parts]
            merged = next((k for k in ("copy", "unknown", "slice") if k in kinds), "int")
            return Dims(tuple(part for part, _ in parts)), merged
        return self._plain(node, state)

    def _plain(self, node: ast.expr, state: State) -> tuple[Plain, Kind]:
        if isinstance(node, ast.Slice):
            return self._slice(node, state), "slice"
        if isinstance(node, ast.List | ast.ListComp | ast.Compare):
            self.evaluate(node, state)
            return All(), "copy"
        if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis):
            return All(), "slice"
        key = self.key(node, state)
        if key.value is not None:
            return One(key), "int"
        kinds: set[Kind] = set()
        for atom in self.evaluate(node, state):
            if isinstance(atom, Span) and not isinstance(atom.selector, Dims):
                return atom.selector, "slice"
            if isinstance(atom, Array):
                scalar = atom.ndim == 0
                kinds.add("int" if scalar else "copy")
            elif isinstance(atom, Obj):
                kinds.add("copy" if atom.kind in ("list", "range") else "unknown")
            elif isinstance(atom, Number | Const):
                kinds.add("int")
            else:
                kinds.add("unknown")
        kind = kinds.pop() if len(kinds) == 1 else "unknown"
        return (All() if kind == "copy" else One(key)), kind

    def _slice(self, node: ast.Slice, state: State) -> Plain:
        if node.step is not None and not _is_one(node.step):
            return All()
        lo = self.key(node.lower, state) if node.lower is not None else None
        hi = self.key(node.upper, state) if node.upper is not None else None
        if lo is not None and lo.value == 0:
            lo = None
        return Run(lo, hi)

    def index_array(self, array: Array, node: ast.Subscript, state: State) -> Values:
        """``array[index]`` as a value."""
        selector, kind = self.selector(node.slice, state)
        if array.face == "address":
            return UNKNOWN
        if kind == "copy":
            self.read(one(array), state, node, "copied by fancy indexing")
            where = array.buffer.where
            return one(self.new_array(node, state, face=array.face, where=where))
        view = self.select(array, node, selector, kind)
        if array.face != "tensor" and kind == "int" and array.ndim in (None, 1):
            width = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            if array.ndim == 1 or width > 1:
                self.read(one(view), state, node, "read by indexing")
                return NUMBER
        return one(view)

    def select(self, array: Array, node: ast.expr, selector: Selector, kind: Kind) -> Array:
        """The view that one index step makes."""
        removed = removed_dims(selector) if kind != "slice" or isinstance(selector, Dims) else 0
        ndim = None
        if array.ndim is not None and kind != "unknown":
            ndim = max(array.ndim - removed, 0)
        sure = array.sure and kind != "unknown"
        if array.face != "tensor" and kind == "int" and array.ndim is None:
            sure = False
        step = "row" if kind == "int" else "slice"
        region = (*array.region, selector)
        cut = Cut(node, self.place_in_file(node), step)
        return replace(array, region=region, cut=cut, ndim=ndim, sure=sure)

    def index_object(self, obj: Obj, node: ast.Subscript, state: State) -> Values:
        """``obj[index]`` of a list, a dict, or an object with unknown indexing."""
        if isinstance(node.slice, ast.Slice):
            return one(obj)
        name = entry_name(node.slice)
        contents = state.contents(obj.site)
        if name is not None:
            exact = dict(contents).get(name)
            loose = state.load(obj.site, "*")
            if exact is not None:
                return exact | loose
            slot = Key(name, (), 0)
            return self.in_slot(loose, slot, always=False) or self._outer(obj, name)
        entries = [values for key, values in contents if key.startswith(("[", "*"))]
        found = frozenset().union(*entries)
        if obj.kind not in ("list", "dict", "tuple") or not found:
            return found or self._outer(obj, "[]")
        single = len(entries) == 1 and not any(key == "*" for key, _ in contents)
        key = self.key(node.slice, state)
        return found if single else self.in_slot(found, key, always=True)

    def in_slot(self, values: Values, key: Key, *, always: bool) -> Values:
        """Mark buffers as "the element `key`", so that two elements are not taken for one."""
        return frozenset(
            replace(atom, slot=key)
            if isinstance(atom, Array) and (always or atom.buffer.many)
            else atom
            for atom in values
        )

    def _outer(self, obj: Obj, name: str) -> Values:
        return one(Ext(f"{obj.title}{name}")) if obj.outside else UNKNOWN

    def index_seq(self, seq: Seq, node: ast.Subscript) -> Values:
        """``(a, b)[i]``."""
        name = entry_name(node.slice)
        if name is not None and name[1:-1].lstrip("-").isdigit():
            position = int(name[1:-1])
            if -len(seq.items) <= position < len(seq.items):
                return seq.items[position]
        return frozenset().union(*seq.items)


def entry_name(node: ast.expr) -> str | None:
    """The heap key of a constant index: ``[0]``, ``['key']``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str):
        return f"[{node.value!r}]"
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    if negative and isinstance(node.operand, ast.Constant):  # type: ignore[attr-defined]
        return f"[-{node.operand.value!r}]"  # type: ignore[attr-defined]
    return None


def removed_dims(selector: Selector) -> int:
    """How many dimensions an index step takes away."""
    parts = selector.parts if isinstance(selector, Dims) else (selector,)
    return sum(isinstance(part, One) for part in parts)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, None)


def _is_pure(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in PURE_CALLS
