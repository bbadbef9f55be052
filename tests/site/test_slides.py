"""Slides: which cells are shown, what is left for the speaker, and nothing from another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.alt_texts import with_alt_texts
from tools.build_slides import SLIDES, STARTS, deck, main, split
from tools.lesson_files import is_solution, lesson_paths, read, tags
from tools.site_check import parse

LESSONS = [path for path in lesson_paths() if not is_solution(path)]


def kinds(made: NotebookNode) -> list[str]:
    return [cell.metadata["slideshow"]["slide_type"] for cell in made.cells]


def test_tagged_cells_are_shown_and_prose_is_for_the_speaker() -> None:
    made = deck(
        new_notebook(
            cells=[
                new_markdown_cell("# Title\n\n" + "word " * 9, metadata={"tags": ["slide"]}),
                new_markdown_cell("More."),
                new_code_cell("left = 'out'"),
                new_code_cell("shown = 1", metadata={"tags": ["exercise", "subslide"]}),
            ]
        )
    )
    assert kinds(made) == ["slide", "notes", "subslide"]
    assert made.cells[2].source == "shown = 1"


def test_a_lead_keeps_what_its_sentence_announces() -> None:
    shown, rest = split(
        "Before.\n\n## Part\n\nThere are two ways to see it here:\n\n- a\n- b\n\nAfter."
    )
    assert shown == "## Part\n\nThere are two ways to see it here:\n\n- a\n- b"
    assert rest == "Before.\n\nAfter."


def test_the_text_twin_of_a_picture_is_not_on_the_slide() -> None:
    printed = new_output("stream", name="stdout", text="1\n[figure] two bars\n")
    cell = new_code_cell("draw()", metadata={"tags": ["slide"]}, outputs=[printed])
    assert [o.text for o in deck(new_notebook(cells=[cell])).cells[0].outputs] == ["1\n"]


@pytest.mark.parametrize("tag", ["subslide", "exercise"])
def test_a_lesson_whose_first_slide_is_missing_is_refused(tag: str) -> None:
    cell = new_markdown_cell("# Title", metadata={"tags": [tag]})
    with pytest.raises(ValueError, match="first slide"):
        deck(new_notebook(cells=[cell]))


@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_every_lesson_has_a_deck(lesson: Path) -> None:
    cells = read(lesson).cells
    starts = [tag for cell in cells for tag in tags(cell) if tag in STARTS]
    assert starts[0] == "slide"
    assert 12 <= len(starts) <= 45


def test_decks_need_no_other_host_and_pictures_have_texts(tmp_path: Path) -> None:
    some = [LESSONS[0], LESSONS[3], LESSONS[-1]]  # the command builds them all
    assert main(["--out", str(tmp_path), *(lesson.stem[:2] for lesson in some)]) == 0
    for lesson in some:
        page = parse(tmp_path / f"{lesson.stem}.html")
        assert page.fetches
        for address in page.fetches:
            assert address.startswith("data:") or (tmp_path / address).exists(), address
        assert all(len(picture["alt"] or "") > 20 for picture in page.pictures)


def test_the_script_that_fits_a_slide_changes_what_the_style_uses() -> None:
    script = (SLIDES / "fit.js").read_text(encoding="utf-8")
    style = (SLIDES / "slides.css").read_text(encoding="utf-8")
    changed = set(re.findall(r'set\("(--[a-z]+)"', script))
    assert changed == {"--code", "--output", "--picture"}
    assert all(f"var({name})" in style for name in changed)


def test_the_style_sheets_fetch_nothing() -> None:
    sheets = list(SLIDES.rglob("*.css"))
    assert len(sheets) >= 3
    for sheet in sheets:
        assert not re.search(r"url\((?!['\"]?data:)|@import", sheet.read_text(), re.IGNORECASE)


def test_a_page_with_other_pictures_than_its_notebook_is_refused() -> None:
    with pytest.raises(ValueError, match="0 pictures in the notebook, 1 on the page"):
        with_alt_texts(
            '<img alt="No description has been provided for this image">', new_notebook()
        )
