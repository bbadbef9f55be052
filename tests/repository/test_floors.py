"""Imports go down the house: sim → device, schedules → serving, detect, casebook → figures → …"""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "pinlab"

FLOORS = {
    "sim": 1,
    "device": 2,
    "schedules": 2,
    "serving": 3,
    "detect": 3,
    "casebook": 3,
    "witness": 3,
    "figures": 4,
    "classroom": 5,
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ["pinlab", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "pinlab" and len(parts) > 1 else None


def type_checking_lines(tree: ast.Module) -> set[int]:
    """Lines under ``if TYPE_CHECKING:``, which never run."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found |= {
                inner.lineno
                for part in node.body
                for inner in ast.walk(part)
                if hasattr(inner, "lineno")
            }
    return found


def imports(path: Path, at_import_only: bool = False) -> set[str]:
    """Modules that a file imports; relative imports are spelt out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = type_checking_lines(tree)
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found: set[str] = set()
    for node in tree.body if at_import_only else ast.walk(tree):
        if isinstance(node, ast.Import) and node.lineno not in unseen:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.lineno not in unseen:
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_from_floors_below_only(path: Path) -> None:
    room = room_of(name_of(path))
    if room not in FLOORS:
        return  # the front door and the command line may reach every room
    for module in imports(path):
        other = room_of(module)
        if other in FLOORS and other != room:
            assert FLOORS[other] < FLOORS[room], f"{name_of(path)} imports {module}"


def test_sim_imports_torch_and_the_standard_library_only() -> None:
    allowed = set(sys.stdlib_module_names) | {"torch", "pinlab", "__future__"}
    for path in (PACKAGE / "sim").rglob("*.py"):
        tops = {module.split(".")[0] for module in imports(path)}
        assert tops <= allowed, f"{name_of(path)} imports {tops - allowed}"


def test_no_module_imports_itself_in_a_circle() -> None:
    """A name imported from a package counts as its module, if there is one of that name."""
    known = {name_of(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        named = imports(path, at_import_only=True) & known
        # `from pinlab.sim import queue` names the package as well; the module is what is meant.
        packages = {one for one in named if any(other.startswith(one + ".") for other in named)}
        graph[name_of(path)] = named - packages - {name_of(path)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


def test_every_room_stands_on_a_floor() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(FLOORS)
