"""Showing a figure: once, with alt text, the twin under it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from pinlab.figures import memory_map, show
from pinlab.figures.show import png
from pinlab.figures.style import Drawing
from tests.kernels import run_cells
from tools.nursery import run_script


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list:
    """What a kernel sends for a cell that shows a figure and ends with it."""
    source = (
        "import numpy as np\n"
        "from pinlab import figures\n"
        "rows = np.array([3, 5], dtype=np.int32)\n"
        "fig = figures.memory_map(rows=rows, head=rows[:1])\n"
        "figures.show(fig)\n"
        "fig"
    )
    (cell,) = run_cells([source], tmp_path_factory.mktemp("kernel"))
    return cell.outputs


def test_the_picture_is_displayed_once_with_its_alt_text(outputs: list) -> None:
    pictures = [out for out in outputs if "image/png" in out.get("data", {})]
    (picture,) = pictures  # the last line of the cell is the figure too, and is not drawn again
    alt = picture.metadata["image/png"]["alt"]
    assert alt == "Memory map of 2 names in 1 storage. Storage 1, 8 bytes: rows and head."
    assert picture.data["text/plain"] == f"<Figure: {alt}>"
    image = Image.open(io.BytesIO(base64.b64decode(picture.data["image/png"])))
    assert image.width == 750


def test_the_twin_is_printed_right_under_the_picture(outputs: list) -> None:
    picture, twin, result = outputs
    assert (picture.output_type, twin.output_type, result.output_type) == (
        "display_data",
        "stream",
        "execute_result",
    )
    lines = twin.text.splitlines()
    assert lines[0] == "[figure] memory map: 2 names, 1 storage"
    assert "head: numpy int32 (1,), bytes [0:4], values 3" in lines[-1]


def test_outside_a_notebook_the_alt_text_stands_in_for_the_picture(capsys) -> None:
    show(memory_map(rows=np.zeros(2, dtype=np.int32)))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("<Figure: Memory map of 1 name in 1 storage.")
    assert printed[1] == "[figure] memory map: 1 name, 1 storage"


def test_a_figure_without_words_is_refused() -> None:
    with pytest.raises(TypeError, match="alt text and twin"):
        show(Figure())
    with pytest.raises(TypeError, match="not described yet"):
        show(Drawing(2, 1))


def test_the_same_objects_give_the_same_bytes() -> None:
    rows = np.arange(5, dtype=np.int16)
    assert png(memory_map(rows=rows)) == png(memory_map(rows=rows))


def test_figures_need_no_pyplot(tmp_path: Path) -> None:
    code = (
        "import sys, numpy\nfrom pinlab.figures import memory_map, show\n"
        "show(memory_map(a=numpy.zeros(2)))\nassert 'matplotlib.pyplot' not in sys.modules"
    )
    run_script(code, cwd=tmp_path, check=True)
