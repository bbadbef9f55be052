"""Cells in a kernel of their own, as a learner's notebook has them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tools.execute import LessonKernel


def run_cells(sources: Iterable[str], folder: Path) -> list[NotebookNode]:
    """Run the cells one after the other in `folder`; each with its outputs."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "", "language": "python"}
    with LessonKernel(notebook, folder, forked=True) as kernel:
        return [kernel.run(position) for position in range(len(notebook.cells))]
