"""A lesson that keeps every rule, for tests that break one at a time."""

from __future__ import annotations

import base64
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.canonical import canonical, to_text

ALT = "Two lanes, host above device, with one copy in flight"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
PROSE = "The device reads these rows when its stream gets there, not when the call returns. " * 5


def figure_cell(alt: str = ALT, twin: str = "[figure] two lanes\nhost: a b\n") -> NotebookNode:
    picture = new_output(
        "display_data",
        data={"image/png": PNG, "text/plain": f"<Figure: {alt}>"},
        metadata={"image/png": {"alt": alt}},
    )
    source = "figure = timeline(run)\nassert run.steps\nshow(figure)"
    outputs = [picture, new_output("stream", name="stdout", text=twin)]
    return new_code_cell(source, outputs=outputs)


def good_lesson() -> NotebookNode:
    """25 cells and more, about 1,500 words, run in order; nothing to complain about."""
    cells = [
        new_markdown_cell("# Share memory by accident\n\nA view is not a copy."),
        new_markdown_cell("## What you'll do\n\nBreak a function."),
        new_markdown_cell("## What you'll learn\n\nWhat a view is."),
        new_markdown_cell("## What you'll need\n\n35 minutes. A GPU is not needed."),
        new_code_cell("import torch\n\ntorch.set_num_threads(1)\nx = 1"),
    ]
    for number in range(14):
        cells.append(new_markdown_cell(f"Step {number}. {PROSE}"))
        cells.append(new_code_cell(f"a = {number}\nb = a + 1\nassert b > a"))
    cells += [
        figure_cell(),
        new_markdown_cell("## Exercise\n\n5 min, difficulty 2. Repair `f`."),
        new_code_cell("def f(a):\n    ...\nf(1)", metadata={"tags": ["exercise"]}),
        new_markdown_cell(
            "<details><summary>Hint 1</summary>a</details>\n\n"
            "<details><summary>Hint 2</summary>b</details>"
        ),
        new_markdown_cell("## Key points\n\nOne. Two. Three."),
        new_markdown_cell("## What this model leaves out\n\nMuch."),
        new_markdown_cell("## Next\n\nLesson 02."),
    ]
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        cell.execution_count = count
    return canonical(new_notebook(cells=cells), just_run=True)


def write_lesson(folder: Path, nb: NotebookNode, name: str = "01_views.ipynb") -> Path:
    path = folder / name
    path.write_text(to_text(nb), encoding="utf-8")
    return path
