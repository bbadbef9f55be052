"""Draws workshop/img/concept_map.png from the series' data, and the text twin on its page.

Usage: python -m tools.concept_map
"""

from __future__ import annotations

import re
from pathlib import Path

from pinlab.classroom.series import SERIES
from pinlab.figures.concept_map import concept_map
from pinlab.figures.show import png

WORKSHOP = Path(__file__).resolve().parents[1] / "workshop"
PICTURE = WORKSHOP / "img" / "concept_map.png"
PAGE = WORKSHOP / "concept_map.md"


def with_twin(page: str) -> str:
    """The page with the picture's line and the block of text as the data says.

    Raises:
        ValueError: if the page lacks one of the two.
    """
    drawing = concept_map(SERIES)
    parts = {
        r"!\[[^\]]*\]\(img/concept_map\.png\)": f"![{drawing.alt}](img/concept_map.png)",
        r"```text\n.*?\n```": "```text\n" + "\n".join(drawing.twin) + "\n```",
    }
    for pattern, text in parts.items():
        page, count = re.subn(pattern, lambda _, text=text: text, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for {text[:30]!r}, should have one")
    return page


def main() -> None:
    """Write the picture and the page."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_bytes(png(concept_map(SERIES)))
    PAGE.write_text(with_twin(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
