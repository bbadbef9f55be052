"""Conditions that the text decides: literals, and local names that are None or are not."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import NONE, Event, Stream, Values
from pinlab.detect.lint.flow.invocation import truth
from pinlab.detect.lint.flow.literals import Literals
from pinlab.detect.lint.flow.state import State


class Conditions(Literals):
    """Which branch is taken, where there is no doubt."""

    def decided(self, test: ast.expr, values: Values, state: State) -> bool | None:
        """What a condition must be where the text tells; `values` is what it evaluated to.

        An attribute may be set from outside: its value at construction decides nothing.
        """
        if any(isinstance(part, ast.Attribute) for part in ast.walk(test)):
            return None
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None and len(test.ops) == 1:
                absent = self._is_absent(test.left.id, state)
                return absent if isinstance(test.ops[0], ast.Is | ast.Eq) else _not(absent)
        return truth(values)

    def _is_absent(self, name: str, state: State) -> bool | None:
        """Whether a local name is None; nothing is said of names shared with other functions."""
        held = state.env.names.get(name)
        if not held or not _binds(self.frame.node, name):
            return None
        if held == NONE:
            return True
        return False if all(isinstance(atom, Event | Stream) for atom in held) else None


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _binds(function: ast.AST | None, name: str) -> bool:
    """Whether `name` is a parameter or a local variable of `function` alone."""
    if function is None:
        return False
    parts = list(ast.walk(function))
    if any(isinstance(part, ast.Nonlocal | ast.Global) and name in part.names for part in parts):
        return False
    return any(
        (isinstance(part, ast.arg) and part.arg == name)
        or (isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store))
        for part in parts
    )
