"""What each lesson's kernel takes: seconds for Run All, and the most memory it ever held.

Memory is ``VmHWM`` of ``/proc/PID/status``, the peak of the kernel's resident set: torch's and
Python's own pages count, shared or not. Processes that a lesson starts (lesson 07's fence) are not
the kernel and are not counted. Where there is no ``/proc``, only the seconds are shown. The first
row is a kernel that does nothing but ``import torch``; the rest of each number is the lesson's.

    python -m benchmarks.bench_lessons
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode

from benchmarks.memory import peak_megabytes
from benchmarks.row import Row, report
from tools.execute import LessonKernel
from tools.lesson_files import NOTEBOOKS, read

MEGABYTES = 450  # a lesson's kernel


def rows() -> Iterator[Row]:
    """Peak memory and seconds of torch alone, and of every lesson.

    Raises the cell's own error if a lesson does not run.
    """
    alone = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import torch")])
    yield from _measured("a kernel with torch alone", alone, None)
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        yield from _measured(f"lesson {path.stem[:2]}", read(path), MEGABYTES)


def _measured(name: str, nb: NotebookNode, limit: float | None) -> Iterator[Row]:
    with LessonKernel(nb, NOTEBOOKS) as kernel:
        began = time.perf_counter()
        for position, cell in enumerate(nb.cells):
            if cell.cell_type == "code":
                kernel.run(position)
        seconds = time.perf_counter() - began
        peak = peak_megabytes(kernel.pid)
    if peak is not None:
        yield Row(f"{name}: peak memory", peak, "MB", kind="reading", at_most=limit, note="VmHWM")
    yield Row(f"{name}: Run All", seconds, "s", kind="reading", note="its start not counted")


if __name__ == "__main__":
    sys.exit(report(rows()))
