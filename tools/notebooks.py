"""Check that the lessons are canonical and keep their rules; repair them; run them again.

    python tools/notebooks.py                 check every lesson, change nothing
    python tools/notebooks.py --fix           write the canonical form, without running anything
    python tools/notebooks.py --run           run every lesson in order and write it back
    python tools/notebooks.py --run --measure take new outputs for cells tagged `measured` too

Name files to work on those alone. Exit status 1: something is left for a person to do.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.canonical import canonical, edited_cells, problems, to_text
from tools.execute import CellFailed, LessonKernel
from tools.lesson_files import MEASURED, lesson_paths, read, shown, tags
from tools.lesson_rules import broken_rules

OnCell = Callable[[int, float], None]


def write(path: Path, text: str) -> bool:
    """Replace the file in one step; False if it said the same already."""
    data = text.encode("utf-8")
    if path.exists() and path.read_bytes() == data:
        return False
    draft = path.with_suffix(".ipynb.part")
    draft.write_bytes(data)
    os.replace(draft, path)
    return True


def run(
    nb: NotebookNode,
    folder: Path,
    measure: bool = False,
    on_cell: OnCell | None = None,
    forked: bool = False,
) -> NotebookNode:
    """Run every cell in a fresh kernel (`forked`: of the nursery), return the canonical notebook.

    A cell tagged ``measured`` runs and then gets its committed output back, unless ``measure`` is
    set, the cell has no output yet, or its source was edited since the output was taken.
    """
    edited = edited_cells(nb)
    after = copy.deepcopy(nb)
    with LessonKernel(after, folder, forked=forked) as kernel:
        for position, cell in enumerate(after.cells):
            if cell.cell_type != "code":
                continue
            begin = time.perf_counter()
            kernel.run(position)
            if on_cell is not None:
                on_cell(position, time.perf_counter() - begin)
    for position, (old, new) in enumerate(zip(nb.cells, after.cells, strict=True)):
        fits = position not in edited and old.get("execution_count") is not None
        if MEASURED in tags(new) and fits and not measure:
            new.outputs = old.outputs
    return canonical(after, just_run=True)


def check_one(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    nb = read(path)
    return problems(nb, text) + broken_rules(path, nb)


def run_one(path: Path, measure: bool) -> list[str]:
    times: list[float] = []
    try:
        nb = run(read(path), path.parent, measure, lambda _, seconds: times.append(seconds))
    except (CellExecutionError, CellFailed) as error:
        return [f"code cell {len(times) + 1}: {error}"]
    changed = write(path, to_text(nb))
    news = "changed" if changed else "unchanged"
    print(
        f"{shown(path)}: {len(times)} cells, {sum(times):.1f} s, slowest "
        f"{max(times, default=0):.1f} s, {news}",
        flush=True,
    )
    return []


def fix_one(path: Path) -> list[str]:
    if write(path, to_text(canonical(read(path)))):
        print(f"{shown(path)}: written in canonical form")
    return check_one(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all lessons)")
    parser.add_argument("--fix", action="store_true", help="write the canonical form")
    parser.add_argument("--run", action="store_true", help="run the lessons and write them back")
    parser.add_argument("--measure", action="store_true", help="with --run: measured cells too")
    options = parser.parse_args(arguments)
    if options.measure and not options.run:
        parser.error("--measure needs --run")
    missing = [str(path) for path in options.files if not path.is_file()]
    if missing:
        parser.error(f"no such file: {', '.join(missing)}")

    failed = 0
    paths = options.files or lesson_paths()
    for path in paths:
        if options.run:
            found = run_one(path, options.measure) or check_one(path)
        elif options.fix:
            found = fix_one(path)
        else:
            found = check_one(path)
        for problem in found:
            print(f"{shown(path)}: {problem}")
        failed += bool(found)
    print(f"{len(paths)} notebooks, {failed} with something to do")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
