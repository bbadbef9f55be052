"""Running a lesson again gives the same bytes, except where something was measured anew."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.notebooks.samples import write_lesson
from tools.execute import LessonKernel
from tools.lesson_files import lesson_paths, read, shown
from tools.notebooks import main, run, write
from tools.run_lessons import CELL_SECONDS, LESSON_SECONDS, Times, page, run_and_show

SOURCES = [
    "import os, random, sys, time\nfrom ipywidgets import IntSlider, Output, interact",
    "print(os.getpid() > 0)\nobject()",
    "interact(lambda x: x, x=IntSlider(3))",
    "out = Output()\nwith out:\n    print(random.random())\nout",
    "for i in range(3):\n    print(i, flush=True)\n    print(i, file=sys.stderr, flush=True)",
    "import warnings\nwarnings.warn('careful')",
]
MEASURED = "print(time.perf_counter())\nassert time.perf_counter() > 0"


@pytest.fixture(autouse=True)
def _kernels_are_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which kernel runs the cells makes no difference here, but to the time that it takes."""
    kernel = functools.partial(LessonKernel, forked=True)
    monkeypatch.setattr("tools.notebooks.LessonKernel", kernel)


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    cells = [new_code_cell(source) for source in SOURCES]
    cells.append(new_code_cell(MEASURED, metadata={"tags": ["measured"]}))
    cells.append(new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}))
    return write_lesson(tmp_path, new_notebook(cells=cells))


def test_running_twice_gives_the_same_bytes_and_measuring_does_not(lesson: Path) -> None:
    main(["--run", str(lesson)])
    first = lesson.read_bytes()
    main(["--run", str(lesson)])
    assert lesson.read_bytes() == first
    rate = read(lesson).cells[-2].outputs
    main(["--run", "--measure", str(lesson)])
    again = read(lesson)
    assert again.cells[-2].outputs != rate
    again.cells[-2].outputs = rate
    write_lesson(lesson.parent, again, "restored.ipynb")
    assert (lesson.parent / "restored.ipynb").read_bytes() == first


def test_an_edited_measured_cell_is_measured_again(lesson: Path) -> None:
    main(["--run", str(lesson)])
    nb = read(lesson)
    nb.cells[-2].source = "print('another')\nassert True"
    assert run(nb, lesson.parent).cells[-2].outputs[0].text == "another\n"


def test_a_cell_that_fails_leaves_the_file_alone_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [new_code_cell("a = 1"), new_code_cell("raise RuntimeError('broken on purpose')")]
    path = write_lesson(tmp_path, new_notebook(cells=cells))
    before = path.read_bytes()
    assert main(["--run", str(path)]) == 1
    said = capsys.readouterr().out
    assert "code cell 2" in said
    assert "broken on purpose" in said
    assert path.read_bytes() == before


def test_writing_the_same_text_again_does_not_touch_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    assert write(path, "x")
    assert not write(path, "x")
    assert write(path, "y")
    assert [found.name for found in tmp_path.iterdir()] == ["a.ipynb"]


def test_a_page_is_left_of_each_lesson(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    nb = new_notebook(cells=[new_code_cell("print('seen by a reader')")])
    target = page(nb, write_lesson(tmp_path, nb), tmp_path / "pages")
    assert "seen by a reader" in target.read_text()
    other = page(nb, write_lesson(tmp_path / "solutions", nb), tmp_path / "pages")
    assert other != target


@pytest.mark.parametrize(
    ("cells", "over"), [([1.0, 2.9], False), ([1.0, 3.1], True), ([2.0] * 6, True), ([], False)]
)
def test_a_slow_lesson_is_marked(cells: list[float], over: bool) -> None:
    assert Times(cells).over is over
    assert str(Times(cells)).endswith(" over") is over


@pytest.mark.soak
@pytest.mark.parametrize("path", lesson_paths(), ids=shown)
def test_a_lesson_written_twice_is_the_same_bytes_and_keeps_its_time(
    path: Path, tmp_path: Path
) -> None:
    times, error = run_and_show(path, tmp_path)
    assert error is None
    assert times.total < LESSON_SECONDS, times
    assert times.slowest < CELL_SECONDS, times
    assert run(read(path), path.parent) == run(read(path), path.parent)


def test_nothing_is_sent_to_the_kernel_while_a_cell_runs(tmp_path: Path) -> None:
    """A message past the waiting loop now and then cost the reply, and the cell its full time."""
    capture = "from ipywidgets import Output\nout = Output()\nwith out:\n    print('caught')"
    nb = new_notebook(cells=[new_code_cell(capture), new_code_cell("print(out.outputs)")])
    caught, after = run(nb, tmp_path).cells
    assert caught.outputs == []
    assert after.outputs[0].text == "()\n"
