"""Assignment in every form, and the exchange of rows through views of themselves."""

from __future__ import annotations

import ast
from typing import NamedTuple

from pinlab.detect.lint.flow.atoms import (
    NONE,
    NUMBER,
    UNKNOWN,
    Array,
    Const,
    Ext,
    Number,
    Obj,
    Seq,
    Values,
    arrays,
    one,
)
from pinlab.detect.lint.flow.comprehensions import Comprehensions
from pinlab.detect.lint.flow.occurrences import RowSwap
from pinlab.detect.lint.flow.region import Key, One
from pinlab.detect.lint.flow.state import RowMove, State
from pinlab.detect.lint.flow.subscripts import Kind, removed_dims


class Row(NamedTuple):
    """``m[i]`` as the target of an assignment, and the array that it is a row of."""

    view: Array
    kind: Kind
    base: Array

    @property
    def is_view(self) -> bool:
        """Reading it gives a view: always for tensors, for arrays from two dimensions on."""
        if self.base.face == "tensor" or self.kind == "slice":
            return True
        selector = self.view.region[-1]
        return (self.base.ndim or 0) > removed_dims(selector)


class Assignments(Comprehensions):
    """``target = value`` and its relatives."""

    def assign(self, target: ast.expr, values: Values, state: State) -> None:
        if isinstance(target, ast.Name):
            self._assign_name(target, values, state)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(target, values, state)
        elif isinstance(target, ast.Subscript):
            self.store_item(target, values, state)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, state)
        elif isinstance(target, ast.Tuple | ast.List):
            for item, part in zip(target.elts, self._unpack(target, values, state), strict=True):
                self.assign(item, part, state)

    def _assign_name(self, target: ast.Name, values: Values, state: State) -> None:
        self.name_buffers(values, target.id, state)
        if target.id in self.frame.shared_names or self.frame.node is None:
            site = f"module:{self.frame.module.path}"
            known = target.id in self.frame.shared_names
            if known:
                self.store_escape(values, state, target, f"global {target.id}", own=False)
            state.store(site, target.id, values)
            state.bump(target.id)
            if known:
                return
        state.env.bind(target.id, values)

    def _unpack(self, target: ast.Tuple | ast.List, values: Values, state: State) -> list[Values]:
        count = len(target.elts)
        if any(isinstance(item, ast.Starred) for item in target.elts):
            every = self.elements(values, target, state)
            return [every] * count
        parts: list[Values] = [UNKNOWN] * count
        for atom in values:
            for position in range(count):
                parts[position] |= self._part(atom, position, count, target, state)
        return parts

    def _part(
        self, atom: object, position: int, count: int, target: ast.expr, state: State
    ) -> Values:
        if isinstance(atom, Seq):
            return atom.items[position] if len(atom.items) == count else UNKNOWN
        if isinstance(atom, Obj) and atom.kind in ("list", "rows"):
            held = state.load(atom.site, f"[{position}]")
            return held or self.elements(one(atom), target, state)
        if isinstance(atom, Array):
            if atom.face != "tensor" and (atom.ndim or 1) < 2:
                return UNKNOWN
            return one(self.select(atom, target, One(Key(str(position), (), position)), "int"))
        if isinstance(atom, Ext):
            return one(Ext(f"{atom.path}[{position}]"))
        return UNKNOWN

    def run_assign(self, node: ast.Assign, state: State) -> None:
        """An assignment statement."""
        values = self.evaluate(node.value, state)
        if values == NONE and isinstance(node.value, ast.Attribute):
            # None at construction; what it is by now is not known.
            values = UNKNOWN
        for target in node.targets:
            if isinstance(target, ast.Tuple) and len(values) == 1:
                self._check_tuple_swap(target, values, node, state)
            elif isinstance(target, ast.Subscript):
                self._check_row_move(target, values, node, state)
            self.assign(target, values, state)

    def _check_tuple_swap(
        self, target: ast.Tuple, values: Values, node: ast.Assign, state: State
    ) -> None:
        """``m[i], m[j] = m[j], m[i]``: the second value is read after the first write."""
        (value,) = values
        if not isinstance(value, Seq) or len(value.items) != len(target.elts):
            return
        written: list[Row] = []
        for item, part in zip(target.elts, value.items, strict=True):
            for source in arrays(part):
                for row in written:
                    if _same_row(row.view, source) and source.cut is not None:
                        self._swap(row, node)
            if isinstance(item, ast.Subscript):
                written.extend(self._row_targets(item, state))

    def _row_targets(self, item: ast.Subscript, state: State) -> list[Row]:
        rows = []
        for array in arrays(self.evaluate(item.value, state)):
            selector, kind = self.selector(item.slice, state)
            if kind != "copy":
                rows.append(Row(self.select(array, item, selector, kind), kind, array))
        return rows

    def _check_row_move(
        self, target: ast.Subscript, values: Values, node: ast.Assign, state: State
    ) -> None:
        """``t = m[i]; m[i] = m[j]; m[j] = t``: `t` is a view, and no longer row ``i``."""
        for row in self._row_targets(target, state):
            buffer, region = row.view.buffer, row.view.region
            for source in arrays(values):
                if source.buffer is not buffer or source.cut is None:
                    continue
                move = state.moves.get(buffer.site)
                back = move is not None and (move.left, move.right) == (source.region, region)
                if back and isinstance(node.value, ast.Name):
                    self._swap(row, node)
                state.put_move(RowMove(buffer, region, source.region, node.lineno))

    def _swap(self, row: Row, node: ast.Assign) -> None:
        if self.abroad or not row.is_view:
            return
        text = " ".join(ast.unparse(node).split())
        self.notice(RowSwap(self.spot(node), row.view, text, row.kind != "unknown"))

    def run_augmented(self, node: ast.AugAssign, state: State) -> None:
        """``target += value``: in place for arrays and lists, a new binding for numbers."""
        value = self.evaluate(node.value, state)
        self.read(value, state, node, "computed with")
        if isinstance(node.target, ast.Subscript):
            old = self.evaluate(node.target, state)
            self.read(old, state, node, "computed with")
            self.store_item(node.target, value if arrays(old) else UNKNOWN, state)
            return
        old = self.evaluate(node.target, state)
        if arrays(old):
            self.read(old, state, node, "computed with")
            self.write(old, state, node, "written in place")
            return
        lists = [atom for atom in old if isinstance(atom, Obj) and atom.kind == "list"]
        for obj in lists:
            state.store(obj.site, "*", self.elements(value, node.value, state), add=True)
        if isinstance(node.target, ast.Name):
            state.env.bind(node.target.id, old if lists else _counted(old))
        elif isinstance(node.target, ast.Attribute) and not lists:
            state.bump(ast.unparse(node.target))


def _counted(old: Values) -> Values:
    """A counter after ``+=``: still a number, its value no longer followed."""
    plain = bool(old) and all(isinstance(atom, Const | Number) for atom in old)
    return NUMBER if plain else UNKNOWN


def _same_row(row: Array, source: Array) -> bool:
    return row.buffer is source.buffer and row.slot == source.slot and row.region == source.region
