"""Run every lesson and solution without a browser and leave a readable page of each.

    python tools/run_lessons.py            all of them
    python tools/run_lessons.py FILE …     some

The notebooks themselves stay as they are. Pages go to ``build/lessons/``. A line per lesson tells
its times; ``over`` marks a cell or a lesson that takes longer than a lesson should.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from nbformat import NotebookNode

from tools.alt_texts import with_alt_texts
from tools.execute import CellFailed
from tools.lesson_files import ROOT, is_solution, lesson_paths, read, shown
from tools.notebooks import run

PAGES = ROOT / "build" / "lessons"
CELL_SECONDS = 3.0
LESSON_SECONDS = 10.0


@dataclass
class Times:
    """Seconds that each code cell of one lesson took, in order.

    >>> print(Times([0.5, 4.0]))
     2 cells    4.5 s, slowest cell 2: 4.0 s over
    """

    cells: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.cells)

    @property
    def slowest(self) -> float:
        return max(self.cells, default=0.0)

    @property
    def over(self) -> bool:
        return self.slowest > CELL_SECONDS or self.total > LESSON_SECONDS

    def __str__(self) -> str:
        where = self.cells.index(self.slowest) + 1 if self.cells else 0
        line = f"{len(self.cells):2} cells {self.total:6.1f} s, "
        line += f"slowest cell {where}: {self.slowest:.1f} s"
        return line + (" over" if self.over else "")


def page(nb: NotebookNode, path: Path, pages: Path) -> Path:
    """Write the lesson as one HTML file and return where it lies."""
    name = ("solution_" if is_solution(path) else "") + path.stem
    exporter = HTMLExporter()
    exporter.log.setLevel("ERROR")  # it misses the texts that are put in below
    html, _ = exporter.from_notebook_node(nb, {"metadata": {"name": path.stem}})
    pages.mkdir(parents=True, exist_ok=True)
    target = pages / f"{name}.html"
    target.write_text(with_alt_texts(html, nb), encoding="utf-8")
    return target


def run_and_show(path: Path, pages: Path = PAGES) -> tuple[Times, str | None]:
    """The lesson's times, and the error that stopped it, if one did."""
    times = Times()
    try:
        nb = run(read(path), path.parent, True, lambda _, seconds: times.cells.append(seconds))
    except (CellExecutionError, CellFailed) as error:
        return times, f"code cell {len(times.cells) + 1}: {error}"
    page(nb, path, pages)
    return times, None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all)")
    paths = parser.parse_args(arguments).files or lesson_paths()
    begin = time.perf_counter()
    failed = 0
    for number, path in enumerate(paths, 1):
        print(f"[{number}/{len(paths)}] {shown(path):44} ", end="", flush=True)
        times, error = run_and_show(path)
        print(times if error is None else f"FAILED in {error}", flush=True)
        failed += error is not None
    spent = time.perf_counter() - begin
    print(
        f"{len(paths) - failed} passed, {failed} failed in {spent:.0f} s; pages in {shown(PAGES)}/"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
