"""Show a figure in a lesson: the picture with its alt text, then its text twin.

Lessons are compared as text, so the twin is what a test sees of a figure.
"""

from __future__ import annotations

import base64
import io
import sys
from importlib import import_module

from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from pinlab.figures.style import Drawing, house

TWIN_MARK = "[figure] "
COLOURS = 128


def png(drawing: Drawing) -> bytes:
    """The figure as the bytes of a PNG file.

    Reduced to a palette of 128 colours: house figures are flat, so nothing visible is lost, and
    the file is a quarter of the size. A lesson with several figures stays under 300 KB.
    """
    full = io.BytesIO()
    with house():
        FigureCanvasAgg(drawing).print_figure(full, format="png")
    drawn = Image.open(full)
    note = PngInfo()
    note.add_text("Software", drawn.info["Software"])  # which matplotlib: pictures are compared
    reduced = io.BytesIO()
    palette = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(reduced, format="png", optimize=True, pnginfo=note)
    return reduced.getvalue()


def show(drawing: Drawing) -> None:
    """Display ``drawing`` once, with its alt text, and print its text twin under it.

    Takes what a function of ``pinlab.figures`` returned; TypeError for a figure without words.
    Outside a notebook the alt text stands in for the picture.
    """
    if not isinstance(drawing, Drawing) or not drawing.alt:
        raise TypeError(
            f"show() takes a figure made by pinlab.figures, with alt text and twin; got {drawing!r}"
        )
    picture = base64.b64encode(png(drawing)).decode("ascii")
    plain = f"<Figure: {drawing.alt}>"
    if not _in_notebook():
        print(plain)
    else:
        display = import_module("IPython.display").display
        display(
            {"image/png": picture, "text/plain": plain},
            metadata={"image/png": {"alt": drawing.alt}},
            raw=True,
        )
    print(TWIN_MARK + "\n".join(drawing.twin))


def _in_notebook() -> bool:
    """True under a Jupyter kernel; IPython is asked only if it is there."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")
