"""Where the lessons lie, how one is read, and which tags a cell may carry."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"

MEASURED = "measured"
RAISES = "raises-exception"
SKIPS = ("nbval-skip",)

# A tag outside this table is taken for a misspelling, because nothing would honour it.
KNOWN_TAGS: dict[str, str] = {
    MEASURED: "runs, asserts in itself what must hold, and keeps its committed output",
    RAISES: "must raise; its exception's name and message are compared",
    "nbval-ignore-output": "runs, its output is not compared (prefer `measured`)",
    "nbval-skip": "does not run in the tests; needs an entry in ALLOWED_SKIPS",
    "exercise": "a stub for the learner; runs unfilled",
    "solution": "a filled exercise, in notebooks/solutions/",
    "hide-input": "code folded away when the lesson is opened",
    "slide": "begins a slide; see tools/build_slides.py",
    "subslide": "a slide below the one before",
}

# (file name, cell id) -> why this cell cannot run in the tests. Empty is the aim.
ALLOWED_SKIPS: dict[tuple[str, str], str] = {}


def lesson_paths(folder: Path = NOTEBOOKS) -> list[Path]:
    """Every lesson in reading order, then every solution."""
    lessons = sorted(folder.glob("[0-9]*.ipynb"))
    return lessons + sorted((folder / "solutions").glob("*.ipynb"))


def is_solution(path: Path) -> bool:
    return path.parent.name == "solutions"


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def markdown_cells(nb: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "markdown"]


def shown(path: Path) -> str:
    """The path as a reader of the repository would write it."""
    try:
        return path.resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return path.name
