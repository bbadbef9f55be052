"""The README is true where a program can tell: links, commands, and what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("workshop/**/*.md")})
PAGES.remove(ROOT / "docs" / "site" / "index.md")  # its links hold once the site is laid out


def rows(pattern: str) -> dict[str, str]:
    """First column that matches -> last column, of the README's tables."""
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in README.splitlines()
        if line.startswith("|")
    ]
    found = {}
    for cells in table:
        for cell in cells[:2]:
            if match := re.fullmatch(pattern, cell):
                found[match[1]] = cells[-1]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_of_the_repository_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_a_heading_find_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#\s:]*\.md)#([\w-]+)\)", text):
        headings = re.findall(r"^#+ (.*)$", (page.parent / target).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
        assert anchor in anchors


def test_every_lesson_has_a_row_with_the_minutes_that_it_names() -> None:
    minutes = rows(r"(\d\d)")
    lessons = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    assert sorted(minutes) == [path.name[:2] for path in lessons]
    for path in lessons:
        text = path.read_text(encoding="utf-8").split("What you'll need")[1]
        assert minutes[path.name[:2]] in re.findall(r"\d+", text.split(" minutes")[0]), path.name


def test_every_room_has_a_row_and_a_file_to_begin_with() -> None:
    begin = rows(r"`(\w+/)`")
    house = ROOT / "src" / "pinlab"
    assert sorted(begin) == sorted(f"{path.parent.name}/" for path in house.glob("*/__init__.py"))
    for room, file in begin.items():
        assert (house / room / file.strip("`")).exists(), room


def test_every_make_target_in_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / page).read_text(), re.MULTILINE))
        assert named
        assert named <= targets


def test_both_commands_and_the_way_without_make_are_there() -> None:
    for line in ("make lab", "make test", 'python -m pip install -e ".[test]"', "has not run"):
        assert line in README


def test_files_that_the_reading_order_names_exist() -> None:
    for name in re.findall(r"`(\w+\.py)`", README.split("Read `sim/` first")[1].split("\n\n")[0]):
        assert (ROOT / "src" / "pinlab" / "sim" / name).exists(), name
