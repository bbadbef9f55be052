"""The text of a class, from a file or from a notebook's cell, for tools that read source."""

from __future__ import annotations

import ast
import linecache
from types import FunctionType

from pinlab.detect.lint import Finding, Options, lint_text

NAMING = Options(enabled=frozenset({"PIN009"}))


def class_source(cls: type) -> str:
    """The class statement's lines. `OSError` for a class without methods, or without text.

    (`inspect.getsource` does not find classes of notebook cells in Python 3.11.)

    >>> class_source(ast.NodeVisitor).splitlines()[0]
    'class NodeVisitor(object):'
    """
    for member in vars(cls).values():
        function = getattr(member, "fget", member)
        function = getattr(function, "__wrapped__", function)
        if isinstance(function, FunctionType):
            lines = linecache.getlines(function.__code__.co_filename)
            found = _statement(lines, cls.__name__, function.__code__.co_firstlineno)
            if found:
                return found
    raise OSError(f"the text of class {cls.__name__} cannot be found")


def lint_class(cls: type) -> list[Finding]:
    """What the lint says of a class, the naming rule PIN009 included; lines are the class's own.

    >>> lint_class(ast.NodeVisitor)
    []
    """
    return lint_text(class_source(cls), NAMING, path=cls.__name__)


def _statement(lines: list[str], name: str, line: int) -> str:
    """The innermost class statement called `name` around a line; nothing if there is none."""
    if not lines:
        return ""
    around = [
        node
        for node in ast.walk(ast.parse("".join(lines)))
        if isinstance(node, ast.ClassDef)
        and node.name == name
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if not around:
        return ""
    node = max(around, key=lambda one: one.lineno)
    indent = node.col_offset
    return "".join(one[indent:] or "\n" for one in lines[node.lineno - 1 : node.end_lineno])
