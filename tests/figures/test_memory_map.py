"""The memory map draws what the alias map says, and stays readable."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle

from pinlab.detect import alias_map
from pinlab.figures import memory_map, memory_map_alt, memory_map_twin
from pinlab.figures.memory_map import LEFT
from pinlab.figures.style import HAZARD, Drawing, cue

Readable = Callable[[Drawing], None]


def rows_and_lens() -> dict:
    rows = np.array([3, 5, 2, 0, 0, 0], dtype=np.int32)
    return {"rows": rows, "lens": torch.from_numpy(rows[:3]), "own": rows[:3].copy()}


def bars(drawing: Drawing) -> list[Rectangle]:
    return [patch for patch in drawing.axes[0].patches if isinstance(patch, Rectangle)]


def test_each_view_is_drawn_over_exactly_its_bytes_and_views_are_hatched() -> None:
    things = rows_and_lens()
    band, rows, lens, _, own = bars(memory_map(**things))
    per_byte = band.get_width() / 24
    spans = [
        ((bar.get_x() - LEFT) / per_byte, bar.get_width() / per_byte) for bar in (rows, lens, own)
    ]
    assert np.allclose(spans, [(0, 24), (0, 12), (0, 12)])
    assert (rows.get_hatch() or "") == cue(0).hatch == ""
    assert lens.get_hatch() == cue(1).hatch


def test_a_strided_view_is_drawn_in_its_pieces() -> None:
    grid = np.zeros((4, 2), dtype=np.int32)
    band, _, *left = bars(memory_map(grid=grid, left=grid[:, 0]))
    per_byte = band.get_width() / 32
    assert np.allclose([(bar.get_x() - LEFT) / per_byte for bar in left], [0, 8, 16, 24])


def test_twin_and_alt_carry_the_facts_of_the_map() -> None:
    things = rows_and_lens()
    seen = alias_map(**things)
    drawing = memory_map(seen)
    assert drawing.twin == tuple(memory_map_twin(**things))
    assert drawing.alt == memory_map_alt(seen)
    assert "\n".join(drawing.twin[1:]) == str(seen)
    assert drawing.alt == (
        "Memory map of 3 names in 2 storages. "
        "Storage 1, 24 bytes: rows and lens. Storage 2, 12 bytes: own."
    )


def test_every_word_of_a_small_map_is_in_the_picture(assert_readable: Readable) -> None:
    drawing = memory_map(**rows_and_lens())
    assert_readable(drawing)
    words = {text.get_text() for text in drawing.axes[0].texts}
    assert {"rows", "lens", "own", "numpy int32 (6,)", "torch int32 (3,)", "5"} <= words
    assert "storage 1: 24 bytes, owner rows, pageable" in words


def test_a_crowded_map_stays_readable(assert_readable: Readable) -> None:
    grid = np.arange(32, dtype=np.int64).reshape(4, 8)
    columns = {f"column_{i}": grid[:, i] for i in range(5)}
    assert_readable(
        memory_map(
            a_very_long_name_for_one_array_of_eight=grid,
            frozen=np.broadcast_to(grid[0], (100, 8)),
            flipped=grid[::-1, ::-1],
            again=grid,
            **columns,
            one=np.zeros(1, dtype=np.int8),
            none=np.zeros(0),
            huge=np.zeros((1 << 16, 4), dtype=np.float32)[:, 1],
            fractions=torch.linspace(0, 1, 7, dtype=torch.float64),
        )
    )


def test_pinned_memory_and_pending_operations_are_marked(
    monkeypatch: pytest.MonkeyPatch, assert_readable: Readable
) -> None:
    rows = torch.zeros(6, dtype=torch.int32)
    copy = types.SimpleNamespace(
        name="upload",
        host_reads=(rows[:3],),
        host_writes=(),
        queued_at="a/folder/with/a/long/name/lesson.py:107",
    )
    monkeypatch.setitem(sys.modules, "pinlab.sim", types.SimpleNamespace(pending=lambda: [copy]))
    plain = bars(memory_map(rows=np.zeros(6)))[0]
    monkeypatch.setattr("pinlab.detect.extents.is_pinned", lambda tensor: True)
    drawing = memory_map(rows=rows, lens=rows[:3])
    assert_readable(drawing)
    assert (plain.get_hatch(), bars(drawing)[0].get_hatch()) == (None, "//")
    marks = [line for line in drawing.axes[0].lines if line.get_color() == HAZARD]
    per_byte = bars(drawing)[0].get_width() / 24
    assert np.allclose([(x - LEFT) / per_byte for x in marks[0].get_xdata()], [0, 12])
    assert "pinned" in drawing.twin[1]
    assert "upload reads bytes [0:12], queued at" in drawing.twin[-1]
    assert drawing.alt.endswith(
        "24 pinned bytes: rows and lens. 1 queued operation still to use them."
    )


def test_too_many_names_or_none_is_an_error_with_the_limit() -> None:
    with pytest.raises(ValueError, match="1 to 24 names, got 0"):
        memory_map({})
    with pytest.raises(ValueError, match="1 to 24 names, got 25"):
        memory_map({f"n{i}": np.zeros(1) for i in range(25)})
