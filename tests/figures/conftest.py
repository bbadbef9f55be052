"""What every figure is held to: words inside the picture, readable, none on another."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable

import matplotlib.text
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from PIL import Image

from pinlab.figures.show import png
from pinlab.figures.style import PAPER, SMALLEST, TEXT_CONTRAST, Drawing, contrast, house

PNG_LIMIT = 40_000


def texts(drawing: Drawing) -> list[matplotlib.text.Text]:
    return [t for t in drawing.findobj(matplotlib.text.Text) if t.get_text() and t.get_visible()]


def complaints(drawing: Drawing) -> list[str]:
    """Everything that keeps a drawing from being read; empty for a good one."""
    found = []
    with house():
        canvas = FigureCanvasAgg(drawing)
        canvas.draw()
        boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in texts(drawing)]
    width, height = canvas.get_width_height()
    for text, box in boxes:
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height:
            found.append(f"{text!r} leaves the figure")
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > 1 and along > 2:  # boxes hold the space above and below the letters too
            found.append(f"{one!r} lies on {other!r}")
    found += [f"{t.get_text()!r} is small" for t in texts(drawing) if t.get_fontsize() < SMALLEST]
    faint = (t for t in texts(drawing) if contrast(to_hex(t.get_color()), PAPER) < TEXT_CONTRAST)
    found += [f"{t.get_text()!r} is faint: {t.get_color()}" for t in faint]
    size = len(png(drawing))
    if size > PNG_LIMIT:
        found.append(f"{size:,} bytes")
    picture = Image.open(io.BytesIO(png(drawing))).convert("RGBA")
    if picture.getextrema()[3] != (255, 255):
        found.append("see-through background")
    return found


@pytest.fixture
def assert_readable() -> Callable[[Drawing], None]:
    """Fails with a list of everything that is wrong with a drawing, its words included."""

    def check(drawing: Drawing) -> None:
        assert complaints(drawing) == []
        assert len(drawing.alt) >= 20
        assert drawing.twin

    return check
