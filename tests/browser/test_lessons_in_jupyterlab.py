"""Every lesson, run from top to bottom in a real JupyterLab in Chromium: `make browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from tests.browser.contrast import faint
from tests.browser.lab import FLAGS, chromium, jupyterlab, set_theme
from tests.browser.lesson_page import (
    LessonPage,
    code_cells,
    copy_lesson,
    show_every_cell,
    text_of,
)
from tools.lesson_files import MEASURED, RAISES, tags

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install -e '.[browser]'"
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(chromium() is None, reason="needs Chromium; none on this machine"),
]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lessons")
    set_theme(made, "JupyterLab Light")
    show_every_cell(made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with jupyterlab(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def dark(folder: Path) -> Iterator[None]:
    set_theme(folder, "JupyterLab Dark")
    yield
    set_theme(folder, "JupyterLab Light")


def open_lesson(browser: Any, server: str, folder: Path, lesson: Path) -> LessonPage:
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    return LessonPage(page, server, copy_lesson(lesson, folder))


def compared(notebook: NotebookNode) -> dict[str, str]:
    """By cell: the text that must be the same in each run."""
    return {cell.id: text_of(cell) for cell in code_cells(notebook) if MEASURED not in tags(cell)}


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])
def test_run_all_cells_reaches_the_end_and_shows_what_is_committed(
    browser: Any, server: str, folder: Path, lesson: Path
) -> None:
    opened = open_lesson(browser, server, folder, lesson)
    saved = opened.run_all()
    opened.picture(lesson.stem)
    opened.page.close()
    cells = code_cells(saved)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = (o for cell in cells if RAISES not in tags(cell) for o in cell.outputs)
    assert [o.evalue for o in outputs if o.output_type == "error"] == []
    assert compared(saved) == compared(nbformat.read(lesson, as_version=4))


def index_of(notebook: NotebookNode, words: str) -> int:
    """The place of the first code cell with these words."""
    return next(
        i for i, c in enumerate(notebook.cells) if c.cell_type == "code" and words in c.source
    )


def test_a_wrong_prediction_and_a_wrong_answer_are_told_the_belief_behind_them(
    browser: Any, server: str, folder: Path
) -> None:
    opened = open_lesson(browser, server, folder, NOTEBOOKS / "01_views.ipynb")
    lesson = opened.run_all()
    start = index_of(lesson, "prompt_lens = torch.from_numpy")
    opened.run_cell(start, shows="tensor([3, 5, 2]")
    opened.answer(start + 2, 'predict("01.1", "3")', shows="predicted: 3")
    told = opened.run_cell(index_of(lesson, 'reveal("01.1"'), shows="M2")
    assert "observed:  7" in told

    exercise = index_of(lesson, "check_01_1(")
    source = lesson.cells[exercise].source
    stub = "def swap_rows(rows, i, j): ..."
    assert stub in source
    wrong = "def swap_rows(rows, i, j):\n    rows[i], rows[j] = rows[j], rows[i]"
    assert "right." not in opened.answer(exercise, source.replace(stub, wrong), shows="M2")
    asked = source.replace("check_01_1(", "check_01_1.hint(); check_01_1(")
    assert "hint 1" in opened.answer(exercise, asked, shows="hint 1")
    right = "def swap_rows(rows, i, j):\n    rows[[i, j]] = rows[[j, i]]"
    opened.answer(exercise, source.replace(stub, right), shows="check_01_1: right.")
    opened.page.close()


def test_a_lesson_is_readable_in_the_dark_theme(
    browser: Any, server: str, folder: Path, dark: None
) -> None:
    opened = open_lesson(browser, server, folder, NOTEBOOKS / "03_non_blocking.ipynb")
    assert opened.page.locator("body[data-jp-theme-light=false]").count() == 1
    opened.run_all()
    # Colours of code are JupyterLab's own.
    ours = ".jp-RenderedHTMLCommon :not(pre, pre *), .jp-OutputArea-output > pre"
    assert faint(opened.page, ours) == []
    opened.picture("03_non_blocking-dark")
    opened.page.close()
