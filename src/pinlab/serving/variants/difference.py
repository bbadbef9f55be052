"""The lines in which two classes differ."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import textwrap
from typing import Any

# A call of the extended method with nothing changed.
PASSED_ON = re.compile(r"(return )?super\(\)\.\w+\((\*args, \*\*options)?\)")


def difference(left: type, right: type) -> str:
    """Return the differing lines of code of two related classes, one method after the other.

    Inherited methods count as a class's own. Docstrings and comments are left out; of a method
    that extends another one through `super()`, only the added lines are shown.

    >>> from pinlab.serving.variants import AliasingBatch, InputBatch
    >>> print(difference(AliasingBatch, InputBatch))
    get_pooling_metadata
    - prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]
    + prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone()
    """
    lines: list[str] = []
    for name in _members(left, right):
        changes = _changes(getattr(left, name, None), getattr(right, name, None))
        lines += [name, *changes] if changes else []
    return "\n".join(lines)


def _members(left: type, right: type) -> list[str]:
    """Methods and inner classes of either, in order of definition, base classes first."""
    found: dict[str, None] = {}
    for cls in (*left.__mro__[::-1], *right.__mro__[::-1]):
        if cls is not object:
            for name, value in vars(cls).items():
                if inspect.isfunction(value) or (inspect.isclass(value) and name != "__class__"):
                    found[name] = None
    return list(found)


def _changes(left: Any, right: Any) -> list[str]:
    if left is right:
        return []
    after = _code(right)
    if any("super()." in line for line in after):
        body = after[_header_length(after) :]
        return [f"+ {line}" for line in body if not PASSED_ON.fullmatch(line)]
    steps = difflib.ndiff(_code(left), after)
    return [f"{line[0]} {line[2:]}" for line in steps if line[0] in "+-" and line[2:] != "pass"]


def _header_length(lines: list[str]) -> int:
    """How many lines the signature takes."""
    return 1 + next(n for n, line in enumerate(lines) if line.endswith(":"))


def _code(member: Any) -> list[str]:
    """Source lines without indent, docstrings, comments, blank lines; none for no member."""
    if member is None:
        return []
    source = textwrap.dedent(inspect.getsource(member))
    dropped = _docstring_lines(ast.parse(source))
    lines = [line.strip() for n, line in enumerate(source.splitlines(), 1) if n not in dropped]
    return [line for line in lines if line and not line.startswith("#")]


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            docstring = node.body[0]
            found |= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return found
