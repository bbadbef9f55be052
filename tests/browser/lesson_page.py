"""A lesson that is open in JupyterLab: run it, edit its cells, read what it saved."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.reader import NotJSONError

from tests.browser.lab import TOKEN

PATIENCE = 60_000  # milliseconds
PICTURES = Path(__file__).resolve().parents[2] / "build" / "browser"


def copy_lesson(lesson: Path, folder: Path) -> Path:
    """A copy without outputs: what is found in it afterwards, this run has made.

    Each copy has a name of its own: JupyterLab keeps a kernel for each path, and a kernel that has
    run before would count on.
    """
    made = nbformat.read(lesson, as_version=4)
    for cell in code_cells(made):
        cell.outputs, cell.execution_count = [], None
    number = len(list(folder.glob(f"{lesson.stem}*")))
    copy = folder / f"{lesson.stem}_{number}.ipynb"
    nbformat.write(made, copy)
    return copy


def show_every_cell(folder: Path) -> None:
    """JupyterLab leaves out of the page the cells that are scrolled away; not here."""
    path = folder / "settings" / "@jupyterlab" / "notebook-extension"
    path.mkdir(parents=True, exist_ok=True)
    (path / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "none"}))


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text_of(cell: NotebookNode) -> str:
    """What a cell has printed and shown, as text."""
    shown = (out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs)
    return "".join(part.rstrip("\n") + "\n" for part in shown)


class LessonPage:
    """A lesson in a tab of the browser, with its file."""

    def __init__(self, page: Any, server: str, path: Path) -> None:
        self.page, self.path = page, path
        page.goto(f"{server}/doc/tree/{path.name}?token={TOKEN}&reset")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PATIENCE)
        page.locator("#jp-main-statusbar", has_text="Idle").wait_for(timeout=PATIENCE)

    def __repr__(self) -> str:
        return f"<LessonPage {self.path.name}>"

    def run_all(self) -> NotebookNode:
        """Choose Run › Run All Cells, wait for the last cell, save; the saved notebook."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = self.page.locator(".jp-CodeCell .jp-InputPrompt").last
        number = len(code_cells(nbformat.read(self.path, as_version=4)))
        last.filter(has_text=f"[{number}]").wait_for(timeout=2 * PATIENCE)
        return self.save()

    def picture(self, name: str) -> None:
        """Keep a screenshot with the lesson's first figure, or its end, in sight."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        figures = self.page.locator(".jp-Notebook .jp-OutputArea-output img")
        shown = (
            figures.first if figures.count() else self.page.locator(".jp-Notebook .jp-Cell").last
        )
        shown.scroll_into_view_if_needed()
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def save(self) -> NotebookNode:
        """Press Ctrl+S and wait until the file is written; what is in it."""
        before = self.path.stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            if self.path.stat().st_mtime_ns != before:
                try:
                    return nbformat.read(self.path, as_version=4)
                except NotJSONError:
                    pass  # the server is still writing: it writes in place
            self.page.wait_for_timeout(100)  # between two looks; the file is what is waited for
        raise AssertionError(f"{self.path.name} was not saved")

    def answer(self, index: int, source: str, shows: str) -> str:
        """Replace the source of a cell, run it, wait until it shows a text; all that it shows."""
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(index)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)
        return self._run(cell, shows)

    def run_cell(self, index: int, shows: str) -> str:
        """Run a cell as it is, wait until it shows a text; all that it shows."""
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(index)
        cell.locator(".cm-content").click()
        return self._run(cell, shows)

    def _run(self, cell: Any, shows: str) -> str:
        self.page.keyboard.press("Control+Enter")
        output = cell.locator(".jp-Cell-outputArea")
        output.filter(has_text=shows).wait_for(timeout=PATIENCE)
        return output.text_content()
