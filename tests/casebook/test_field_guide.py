"""The printed page: every kind on it, and no more than a page."""

from __future__ import annotations

from pathlib import Path

from pinlab.casebook import KINDS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "field_guide.md"


def test_every_kind_has_its_row() -> None:
    rows = [line.split(" | ") for line in GUIDE.read_text().splitlines() if line.startswith("| ")]
    kinds = [row[1] for row in rows[2:]]
    assert sorted(kinds) == sorted(f"{kind.letter}: {kind.name}" for kind in KINDS.values())
    assert all(len(row) == 4 for row in rows)


def test_it_fits_on_a_page() -> None:
    assert len(GUIDE.read_text().split()) < 700
