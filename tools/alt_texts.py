"""The texts of a notebook's pictures, put into the page that nbconvert makes of it.

A lesson keeps the text with the picture, in the output's metadata; nbconvert looks elsewhere.
"""

from __future__ import annotations

import html

from nbformat import NotebookNode

MISSING = 'alt="No description has been provided for this image"'


def alt_texts(notebook: NotebookNode) -> list[str]:
    """The text of each picture of the code cells' outputs, in order; ``""`` where it has none."""
    outputs = (o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs)
    pictures = (o for o in outputs if "image/png" in o.get("data", {}))
    return [o.get("metadata", {}).get("image/png", {}).get("alt", "") for o in pictures]


def with_alt_texts(page: str, notebook: NotebookNode) -> str:
    """The page with each picture's own text.

    Raises:
        ValueError: if the page shows more or fewer pictures than the notebook has.
    """
    parts, texts = page.split(MISSING), alt_texts(notebook)
    if len(parts) != len(texts) + 1:
        raise ValueError(f"{len(texts)} pictures in the notebook, {len(parts) - 1} on the page")
    made = parts[0]
    for text, part in zip(texts, parts[1:], strict=True):
        made += f'alt="{html.escape(text)}"' + part
    return made
