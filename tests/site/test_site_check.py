"""The check of a built site: each thing that it must not have, on pages made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.site_check import problems_of

GOOD = """<html lang="en"><head><link rel="stylesheet" href="style.css"></head><body><article>
<h1 id="top">Title</h1><h2>Part</h2><a href="other.html#place">on</a><a href="https://x.org/">out</a>
<img src="data:image/png;base64,AA" alt="A grey square"></article></body></html>"""
OTHER = '<html lang="en"><body><article><h1 id="place">Other</h1></article></body></html>'


def site(folder: Path, page: str) -> Path:
    (folder / "index.html").write_text(page)
    (folder / "other.html").write_text(OTHER)
    (folder / "style.css").touch()
    return folder


def test_a_good_site_has_no_problems(tmp_path: Path) -> None:
    assert problems_of(site(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("other.html#place", "lost.html", "a link to lost.html, which is not there"),
        ("other.html#place", "other.html#lost", "the page has no such place"),
        ('href="style.css"', 'href="https://cdn.org/s.css"', "fetched from another host"),
        ('href="style.css"', 'href="lost.css"', "lost.css is not there"),
        ('src="data:image/png;base64,AA"', 'src="//cdn.org/a.png"', "fetched from another host"),
        (' alt="A grey square"', "", "a picture without a text"),
        ('alt="A grey square"', 'alt="_images/a3f.png"', "no text but its file's name"),
        ("<h2>Part</h2>", "<h3>Part</h3>", "a heading of level 3 follows one of level 1"),
        ('<h1 id="top">Title</h1><h2>Part</h2>', "<h2>Part</h2>", "0 main headings"),
        ('<html lang="en">', "<html>", "does not say its language"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, right: str, wrong: str, words: str) -> None:
    assert right in GOOD
    found = problems_of(site(tmp_path, GOOD.replace(right, wrong)))
    assert len(found) == 1
    assert found[0].startswith("index.html: ")
    assert words in found[0]


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no page"):
        problems_of(tmp_path)
