"""Reads the workshop's pages: sections, tables, blocks of code, links."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKSHOP = ROOT / "workshop"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (WORKSHOP / name).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return FENCE.sub("", text)


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = heading.split()[0]
    start = re.search(rf"^{re.escape(heading)}$", text, re.MULTILINE)
    assert start is not None, f"no heading {heading!r}"
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(level)}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text: str) -> list[list[dict[str, str]]]:
    """Every table, a row as head → cell."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", without_code(text), re.MULTILINE):
        lines = [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
        head, _, *body = lines
        found.append([dict(zip(head, cells, strict=True)) for cells in body])
    return found


def headings(text: str) -> list[tuple[int, str]]:
    found = re.findall(r"^(#+) (.+)$", without_code(text), re.MULTILINE)
    return [(len(marks), words) for marks, words in found]
