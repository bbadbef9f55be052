"""A pytest plugin: nbval, without the holes that nbval 0.11.0 has.

nbval collects each code cell as a test and compares outputs; that part is used as it is. Cells are
run by ``tools.execute`` instead of nbval's own reader, which leaves the session's history out (so
``Out[n]`` and a closing ``;`` fail), does not follow widgets, ``clear_output`` or display updates,
and waits for a kernel that has died. What nbval lets through is checked here, a function for each;
``tests/notebooks/test_nbval_holes.py`` has a test for each.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams

from tools.canonical import canonical_outputs
from tools.execute import CellFailed, LessonKernel
from tools.lesson_files import ALLOWED_SKIPS, MEASURED, RAISES, tags
from tools.lesson_rules import misspelt
from tools.pixels import differing_pictures

SANITIZE = Path("notebooks") / "sanitize.cfg"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(parent: pytest.Collector) -> Iterator[Any]:
    """Put a strict collector in the place of each of nbval's."""
    collectors = yield
    return [
        StrictFile.from_parent(parent, path=found.path) if type(found) is IPyNbFile else found
        for found in collectors
    ]


def outline(outputs: list[NotebookNode]) -> list[str]:
    """The kinds of output in order, which nbval does not compare; stderr may fall anywhere."""
    kinds = []
    for output in outputs:
        if output.output_type == "stream":
            kinds.append(output.name)
        elif "data" in output:
            mimes = " ".join(sorted(output.data))
            alts = [str(output.metadata.get(mime, {}).get("alt", "")) for mime in output.data]
            kinds.append(" ".join([output.output_type, mimes, *filter(None, alts)]))
        else:
            kinds.append(output.output_type)
    return [kind for kind in kinds if kind != "stderr"]


class StrictFile(IPyNbFile):
    """A notebook; its cells run in one kernel of the environment that runs pytest."""

    kernel: LessonKernel | None

    def setup(self) -> None:
        timeout = self.config.option.nbval_cell_timeout
        copied = copy.deepcopy(self.nb)
        self.kernel = LessonKernel(copied, self.path.parent, timeout, forked=True)
        self.kernel.start()
        self.setup_sanitize_files()

    def get_sanitize_files(self) -> list[str]:
        default = self.config.rootpath / SANITIZE
        return super().get_sanitize_files() or [str(default)] * default.is_file()

    def collect(self) -> Iterator[StrictCell]:
        for plain in super().collect():
            yield StrictCell.from_parent(
                self,
                name=plain.name,
                cell_num=plain.cell_num,
                cell=plain.cell,
                options=plain.options,
            )

    def teardown(self) -> None:
        if self.kernel is not None:
            self.kernel.stop()


class StrictCell(IPyNbCell):
    """A code cell: it runs, and its outputs are the committed ones."""

    def setup(self) -> None:
        """nbval would expect the cells below a timeout to fail; here they fail."""

    def runtest(self) -> None:
        self._check_tags()
        self._check_skip()
        self._check_was_run()
        fresh = self._run()
        self._check_raised(fresh)
        if self.options["check"] and MEASURED not in tags(self.cell):
            self._compare(fresh)

    def _check_tags(self) -> None:
        for problem in misspelt(self.cell):
            self.raise_cell_error(problem)

    def _check_skip(self) -> None:
        if not self.options["skip"]:
            return
        reason = ALLOWED_SKIPS.get((self.path.name, self.cell.id))
        if reason is None:
            self.raise_cell_error("skipped, and not in ALLOWED_SKIPS with a reason")
        pytest.skip(reason)

    def _check_was_run(self) -> None:
        if self.cell.execution_count is None:
            self.raise_cell_error("committed without having been run: there is nothing to compare")

    def _run(self) -> list[NotebookNode]:
        kernel = self.parent.kernel
        position = next(i for i, cell in enumerate(self.parent.nb.cells) if cell is self.cell)
        if self.options["check_exception"]:  # a comment marker says the same as the tag
            running = kernel.nb.cells[position]
            running.metadata["tags"] = [*tags(running), RAISES]
        try:
            return list(kernel.run(position).outputs)
        except CellExecutionError as error:
            return self.raise_cell_error("Cell execution caused an exception", error.traceback)
        except CellFailed as error:
            return self.raise_cell_error(str(error))

    def _check_raised(self, fresh: list[NotebookNode]) -> None:
        raised = any(output.output_type == "error" for output in fresh)
        if self.options["check_exception"] and not raised:
            self.raise_cell_error("marked as raising, and raised nothing")

    def _compare(self, fresh: list[NotebookNode]) -> None:
        count = self.cell.execution_count
        new = canonical_outputs(fresh, count)
        old = canonical_outputs(self.cell.outputs, count)
        pairs = coalesce_streams(copy.deepcopy(new)), coalesce_streams(copy.deepcopy(old))
        if not self.compare_outputs(*pairs):
            self.raise_cell_error("Cell outputs differ", "\n".join(self.comparison_traceback))
        if outline(new) != outline(old):
            was, now = "\n  ".join(outline(old)), "\n  ".join(outline(new))
            self.raise_cell_error(
                "Cell outputs differ in kind, order or alt text", f"was\n  {was}\nnow\n  {now}"
            )
        for problem in differing_pictures(old, new):
            self.raise_cell_error(problem)
