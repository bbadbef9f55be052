"""Make a deck of slides from each lesson, by the tags of its cells.

    python tools/build_slides.py [--out build/slides] [03 05 …]

A cell tagged ``slide`` begins a slide, one tagged ``subslide`` a slide below it (arrow down). Of a
tagged markdown cell the heading and the first block are shown; what follows is for the speaker
(press S), and so is every markdown cell without a tag. Code cells without a tag are left out.

The decks need no network: reveal.js lies in workshop/slides.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nbconvert import SlidesExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.alt_texts import with_alt_texts
from tools.lesson_files import ROOT, is_solution, lesson_paths, read, tags

SLIDES = ROOT / "workshop" / "slides"
OUT = ROOT / "build" / "slides"
STARTS = ("slide", "subslide")
TWIN = "[figure] "


def deck(lesson: NotebookNode) -> NotebookNode:
    """The lesson's cells as slides and notes, in nbconvert's own marks.

    Raises:
        ValueError: if no cell is tagged ``slide``, or one is tagged ``subslide`` before it.
    """
    starts = [tag for cell in lesson.cells for tag in tags(cell) if tag in STARTS]
    if not starts or starts[0] != "slide":
        raise ValueError(
            f"the first slide must be tagged 'slide'; found {starts[:1] or 'no slide'}"
        )
    made: list[NotebookNode] = []
    for cell in lesson.cells:
        made += _parts(cell)
    shown = NotebookNode(lesson)
    shown.cells = made
    return shown


def _parts(cell: NotebookNode) -> Iterable[NotebookNode]:
    kind = next((tag for tag in tags(cell) if tag in STARTS), None)
    if cell.cell_type == "code":
        return [_marked(_without_twins(cell), kind)] if kind else []  # left out with its pictures
    if kind is None:
        return [_marked(cell, "notes")]
    lead, rest = split(cell.source)
    shown = _marked(new_markdown_cell(lead, id=cell.id), kind)
    return [shown, _marked(new_markdown_cell(rest), "notes")] if rest else [shown]


def _marked(cell: NotebookNode, kind: str | None) -> NotebookNode:
    cell.metadata["slideshow"] = {"slide_type": kind or "skip"}
    return cell


def _without_twins(cell: NotebookNode) -> NotebookNode:
    """Without the text twin of a picture: on a slide the picture stands for both."""
    for output in cell.outputs:
        if output.output_type == "stream" and TWIN in output.text:
            output.text = output.text.split(TWIN)[0]
    cell.outputs = [o for o in cell.outputs if o.output_type != "stream" or o.text.strip()]
    return cell


def split(source: str) -> tuple[str, str]:
    """What a slide shows of a markdown cell, and what is left for the speaker.

    Shown are the first headings with the block after them, and the list that it announces.

    >>> split("## Pinned\\n\\nWhat changes when a row is pinned, and why?\\n\\nWe saw it.")
    ('## Pinned\\n\\nWhat changes when a row is pinned, and why?', 'We saw it.')
    >>> split("One block.")
    ('One block.', '')
    """
    blocks = _blocks(source)
    first = next((i for i, block in enumerate(blocks) if block.startswith("#")), 0)
    last = first
    while last < len(blocks) - 1 and blocks[last].startswith("#"):
        last += 1
    while last < len(blocks) - 1 and _leads_on(blocks[last]):
        last += 1
    shown, rest = blocks[first : last + 1], blocks[:first] + blocks[last + 1 :]
    return "\n\n".join(shown), "\n\n".join(rest)


def _leads_on(block: str) -> bool:
    """Whether a block alone would leave its slide open, or nearly empty."""
    short = len(block.split()) < 8 and not block.startswith(("- ", "1. ", "|", "```"))
    return short or block.rstrip().endswith((":", "can", "…"))


def _blocks(source: str) -> list[str]:
    """Paragraphs, lists, tables; a fenced block stays whole.

    >>> _blocks("a\\n\\n```\\nb\\n\\nc\\n```")
    ['a', '```\\nb\\n\\nc\\n```']
    """
    blocks: list[list[str]] = [[]]
    fenced = False
    for line in source.split("\n"):
        if not fenced and not line.strip():
            blocks.append([])
        else:
            blocks[-1].append(line)
        fenced ^= line.lstrip().startswith(("```", "~~~"))
    return ["\n".join(block) for block in blocks if block]


def write(path: Path, out: Path) -> int:
    """Write the deck of one lesson; the number of its slides."""
    made = deck(read(path))
    exporter = SlidesExporter(
        template_file="index.html.j2",
        template_name="template",
        extra_template_basedirs=[str(SLIDES)],
        reveal_url_prefix="reveal",
        reveal_theme="pinlab",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    exporter.log.setLevel("ERROR")  # it misses the texts that are put in below
    page, _ = exporter.from_notebook_node(made, {"metadata": {"name": path.stem}})
    shown = with_alt_texts(page, made)
    (out / f"{path.stem}.html").write_text(shown, encoding="utf-8")
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in made.cells]
    return sum(kind in STARTS for kind in kinds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write every deck, a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("lessons", nargs="*", help="their numbers; all, if none is given")
    asked = parser.parse_args(arguments)
    out: Path = asked.out
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(SLIDES / "reveal", out / "reveal")
    shutil.copy(SLIDES / "fit.js", out / "reveal")
    theme = out / "reveal" / "dist" / "theme"  # where nbconvert's template looks for it
    theme.mkdir()
    shutil.copy(SLIDES / "slides.css", theme / "pinlab.css")
    for path in lesson_paths():
        if not is_solution(path) and (not asked.lessons or path.stem[:2] in asked.lessons):
            print(f"{path.stem}: {write(path, out)} slides")
    print(f"open {out}/*.html; S shows the speaker's notes, ? the keys")
    return 0


if __name__ == "__main__":
    sys.exit(main())
