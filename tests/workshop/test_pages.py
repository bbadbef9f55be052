"""The pages around the guide: generated ones are current, terms are used, one page is one page."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from pinlab import environment
from pinlab.classroom.series import SERIES
from pinlab.figures.concept_map import concept_map
from pinlab.figures.show import png
from pinlab.schedules.schedule import Schedule
from pinlab.serving import VARIANTS
from tests.workshop.markdown import ROOT, WORKSHOP, headings, page, section, tables, without_code
from tools.concept_map import PICTURE, with_twin
from tools.pixels import share_of_changed_pixels
from tools.quiz_page import key
from tools.quiz_page import page as quiz_page

PAGES = sorted([*WORKSHOP.glob("*.md"), ROOT / "docs" / "troubleshooting.md"])
EACH = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
ONE_PAGE = 450  # words; A4, 10 points, two tables
QUICK = page("quick_reference.md")


def lesson_text(number: str) -> str:
    """Markdown and code of a lesson; "" where it is not written yet."""
    found = list((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
    if not found:
        return ""
    cells = json.loads(found[0].read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def drawn_by(picture: bytes) -> str:
    return str(Image.open(io.BytesIO(picture)).info["Software"])


@EACH
def test_headings_are_in_order_under_one_title(path: Path) -> None:
    levels = [level for level, _ in headings(path.read_text(encoding="utf-8"))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@EACH
def test_headings_of_a_page_differ(path: Path) -> None:
    words = [words for _, words in headings(path.read_text(encoding="utf-8"))]
    assert len(set(words)) == len(words)


@EACH
def test_pictures_have_a_text(path: Path) -> None:
    text = without_code(path.read_text(encoding="utf-8"))
    for alt in re.findall(r"!\[([^\]]*)\]", text):
        assert len(alt) >= 20


def test_the_quiz_on_paper_and_its_key_are_as_the_data_says() -> None:
    assert page("quiz.md") == quiz_page()
    assert page("quiz_key.md") == key()


def test_the_concept_maps_page_and_picture_are_as_the_data_says() -> None:
    assert with_twin(page("concept_map.md")) == page("concept_map.md")
    drawn = png(concept_map(SERIES))
    if drawn_by(drawn) == drawn_by(PICTURE.read_bytes()):  # fonts move with matplotlib
        assert share_of_changed_pixels(PICTURE.read_bytes(), drawn) < 0.01


@pytest.mark.parametrize("table", tables(page("glossary.md")), ids=lambda rows: rows[0]["term"])
def test_each_term_of_the_glossary_is_used_in_the_lesson_that_is_named(
    table: list[dict[str, str]],
) -> None:
    for row in table:
        assert row["meaning"]
        text = " ".join(lesson_text(row["lesson"]).lower().split())
        if text:
            assert row["term"].lower() in text, row


def test_no_term_is_explained_twice() -> None:
    terms = [row["term"] for table in tables(page("glossary.md")) for row in table]
    assert len(set(terms)) == len(terms) >= 40


def test_the_quick_reference_is_one_page() -> None:
    assert len(QUICK.split()) <= ONE_PAGE


def test_its_table_of_copies_is_the_one_that_lesson_03_arrives_at() -> None:
    lesson = [
        table for table in tables(lesson_text("03")) if "copy, `non_blocking=True`" in table[0]
    ]
    assert tables(QUICK)[0] == lesson[0]


def test_its_six_repairs_are_right_for_whom_it_says() -> None:
    repairs = tables(section(QUICK, "## Six repairs"))[0]
    assert len(repairs) == 6
    for row in repairs:
        variant = VARIANTS[row["repair"].split(":")[0]]
        assert variant.kind == row["kind"]
        assert variant.device_reader
        assert variant.late_host_reader == row["right for"].startswith("every reader")


def test_its_tools_and_tokens_exist() -> None:
    import pinlab.detect
    import pinlab.schedules
    from pinlab.commands import COMMANDS

    table = section(QUICK, "## Which tool when")
    assert set(re.findall(r"python -m pinlab (\w+)", table)) <= set(COMMANDS)
    for name in re.findall(r"`(\w+)(?:\(.*?\))?`", table):
        assert hasattr(pinlab.detect, name) or hasattr(pinlab.schedules, name), name
    for token in re.findall(r"`([hsdq][\w.]*)`", section(QUICK, "## Tokens")):
        parsed = Schedule.parse(token)
        assert parsed.steps == 0 or str(parsed) == token  # without a step it is the latest one


def test_its_bounds_are_exact() -> None:
    for n, percent in ((5, 45), (20, 14), (100, 3)):
        assert f"{percent} % for {n}" in " ".join(QUICK.split())
        assert round(100 * (1 - 0.05 ** (1 / n))) == percent


def test_the_learner_page_explains_what_the_check_prints() -> None:
    text = page("learner_page.md")
    (table,) = tables(text)
    explained = " ".join(row["line"] for row in table)
    for finding in environment.findings():
        if finding.what not in (
            "matplotlib",
            "pillow",
            "jupyterlab",
            "ipykernel",
            "ipywidgets",
            "tqdm",
        ):
            assert f"`{finding.what}`" in explained
    for level in (environment.OK, environment.NOTE, environment.FAIL):
        assert f"- `{level}`: " in text


def test_links_between_the_pages_lead_somewhere() -> None:
    for path in PAGES:
        text = without_code(path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not target.startswith("https:"):
                assert (path.parent / target).exists(), f"{path.name}: {target}"
