"""PIN009 (opt-in): pinned buffers are private and say in their names what they are."""

from __future__ import annotations

import ast

from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.flow.atoms import Array, Values
from pinlab.detect.lint.flow.modules import ClassInfo
from pinlab.detect.lint.flow.occurrences import Escape, Occurrence
from pinlab.detect.lint.rules.rule import Rule, called, finding

ID = "PIN009"
BUFFER_SUFFIXES = ("_cpu_tensor", "_pinned")
FACE_SUFFIX = "_np"


def judge(occurrence: Occurrence) -> Finding | None:
    """A finding for a public function that returns a pinned buffer, or a view of one."""
    if not isinstance(occurrence, Escape) or not occurrence.how.startswith("returned"):
        return None
    function = occurrence.spot.function.rpartition(".")[2]
    buffer = occurrence.array.buffer
    if function.startswith("_") or not buffer.maybe_pinned or occurrence.lent:
        return None
    message = (
        f"{called(occurrence.spot.function)} is public and returns memory of the pinned buffer "
        f"{buffer.title}; return a snapshot, or make the method private"
    )
    return finding(ID, occurrence.spot, Level.WARNING, message)


def check_names(path: str, cls: ClassInfo, attributes: dict[str, Values]) -> list[Finding]:
    """Findings for the attributes of one class that break the convention.

    A class whose own name ends in ``Buffer`` is a buffer type: its ``.cpu`` and ``.np`` are the
    interface that the convention protects elsewhere, and are not asked to follow it.
    """
    if cls.name.endswith("Buffer"):
        return []
    found = []
    for name, values in attributes.items():
        fault = _fault(name, values)
        if fault and not name.startswith(("[", "*")):
            line = _first_assignment(cls.node, name)
            message = f"`{cls.name}.{name}` {fault}"
            found.append(Finding(path, line, ID, Level.WARNING, message))
    return found


def check_reach(path: str, tree: ast.Module) -> list[Finding]:
    """Findings for private pinned names of another object: ``batch._lens_pinned``.

    Inside a class that has the attribute itself, other instances of it are its own business.
    """
    found = []
    stack: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, own = stack.pop()
        if isinstance(node, ast.ClassDef):
            own |= {p.attr for p in ast.walk(node) if _is_own(p) and isinstance(p, ast.Attribute)}
        elif isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            message = (
                f"`{ast.unparse(node)}` reaches into another object for pinned memory; ask that "
                "object for a snapshot"
            )
            found.append(Finding(path, node.lineno, ID, Level.WARNING, message))
        stack.extend((child, own) for child in ast.iter_child_nodes(node))
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and name.endswith(BUFFER_SUFFIXES)


def _is_own(node: ast.AST) -> bool:
    holder = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(holder, ast.Name) and holder.id in ("self", "cls")


def _fault(name: str, values: Values) -> str:
    pinned = [a for a in values if isinstance(a, Array) and a.buffer.maybe_pinned]
    if not pinned:
        return ""
    face = any(array.face != "tensor" for array in pinned)
    kind = "numpy face of a pinned buffer" if face else "pinned buffer"
    wrong = []
    if not name.startswith("_"):
        wrong.append("private (a leading underscore)")
    if face and not name.endswith(FACE_SUFFIX):
        wrong.append(f"named with the suffix `{FACE_SUFFIX}`")
    if not face and not name.endswith(BUFFER_SUFFIXES):
        wrong.append("named with the suffix `_cpu_tensor` or `_pinned`")
    return f"is a {kind} and must be {' and '.join(wrong)}" if wrong else ""


def _first_assignment(cls: ast.ClassDef, name: str) -> int:
    lines = [
        node.lineno
        for node in ast.walk(cls)
        if (isinstance(node, ast.Attribute) and node.attr == name)
        or (isinstance(node, ast.Name) and node.id == name)
    ]
    return min(lines, default=cls.lineno)


RULE = Rule(ID, "pinned-naming", "pinned buffers are private and named so", judge, optional=True)
