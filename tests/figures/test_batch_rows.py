"""The picture of a batch's rows after each call, and its words."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from pinlab.device import pick_device
from pinlab.figures.batch_rows import Shot, batch_rows, batch_rows_alt, batch_rows_twin
from pinlab.figures.style import CUES, Drawing
from pinlab.serving import CachedRequestState, InputBatch


def film() -> list[Shot]:
    """a, b, c and d come, b goes, the gap is closed: seven shots of five rows."""
    batch = InputBatch(5, pick_device(), max_model_len=8)
    shots = [Shot.of("new", batch)]
    for req_id, length in (("a", 3), ("b", 5), ("c", 2), ("d", 8)):
        batch.add_request(CachedRequestState(req_id, [7] * length))
        shots.append(Shot.of(f"add {req_id}", batch))
    batch.remove_request("b")
    shots.append(Shot.of("remove b", batch))
    batch.condense()
    shots.append(Shot.of("condense", batch))
    return shots


def test_the_largest_film_and_long_names_are_readable(
    assert_readable: Callable[[Drawing], None],
) -> None:
    assert_readable(batch_rows(film()))
    wide = [
        Shot(f"add request-{n}", (*["request-0"] * 7, None), (*[1000 + n] * 7, 0)) for n in range(7)
    ]
    assert_readable(batch_rows(wide))


def test_a_single_shot_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(batch_rows(film()[:1]))


def test_a_shot_is_a_copy_that_later_calls_do_not_move() -> None:
    batch = InputBatch(2, pick_device())
    before = Shot.of("new", batch)
    batch.add_request(CachedRequestState("a", [7, 7]))
    assert before.numbers == (0, 0)
    assert before.num_reqs == 0
    assert repr(Shot.of("add a", batch)) == "<after add a: a: 2, -: 0>"


def test_thick_frames_mark_exactly_the_numbers_that_a_call_changed() -> None:
    shots = film()
    boxes = [p for p in batch_rows(shots).axes[0].patches if isinstance(p, Rectangle)]
    thick = {divmod(place, 5) for place, box in enumerate(boxes) if box.get_linewidth() == 2.0}
    changed = {
        (column, row)
        for column, (before, after) in enumerate(itertools.pairwise(shots), 1)
        for row in range(5)
        if before.numbers[row] != after.numbers[row]
    }
    assert thick == changed == {(1, 0), (2, 1), (3, 2), (4, 3), (6, 1)}


def test_the_twin_says_who_has_which_row_and_what_was_changed() -> None:
    twin = batch_rows_twin(film())
    assert twin[1].split() == "new add a add b add c add d remove b condense".split()
    assert twin[3].endswith("- 5       d 8*")
    assert twin[-1].split() == ["in", "use", *"0123433"]


def test_the_alt_text_says_how_it_ends() -> None:
    assert batch_rows_alt(film()).startswith(
        "Rows of a batch after 7 calls. After condense: row 0 a"
    )
    assert batch_rows_alt(film()).endswith("row 3 free with 8, row 4 free with 0.")


@pytest.mark.parametrize(
    ("shots", "said"),
    [
        ([], "1 to 7 shots, got 0"),
        ([Shot("new", (None,), (0,))] * 8, "got 8"),
        ([Shot("a", (None,), (0,)), Shot("b", (None, None), (0, 0))], "different size"),
        ([Shot("new", (None,) * 9, (0,) * 9)], "1 to 8 rows, got 9"),
    ],
)
def test_what_cannot_be_drawn_is_refused(shots: list[Shot], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        batch_rows(shots)


def faces(drawing: Drawing, shots: list[Shot]) -> dict[str, set[str]]:
    """Request → colours of its boxes."""
    boxes = [p for p in drawing.axes[0].patches if isinstance(p, Rectangle)]
    owners = [owner for shot in shots for owner in shot.owners]
    found: dict[str, set[str]] = {}
    for owner, box in zip(owners, boxes, strict=True):
        if owner is not None:
            found.setdefault(owner, set()).add(to_hex(box.get_facecolor()))
    return found


def test_a_request_has_one_colour_in_every_figure_of_a_lesson_and_no_other_has_it() -> None:
    first = film()
    later = [
        Shot("before", ("a", "d", "c", None, None), (3, 8, 2, 8, 0)),
        Shot("a out, e in", ("e", "d", "c", None, None), (4, 8, 2, 8, 0)),
    ]
    before, after = faces(batch_rows(first), first), faces(batch_rows(later), later)
    for colours in (before, after):
        assert all(len(mine) == 1 for mine in colours.values())
        assert len(set.union(*colours.values())) == len(colours)
    assert {name: before[name] for name in "acd"} == {name: after[name] for name in "acd"}


def test_more_requests_than_colours_are_drawn_all_the_same() -> None:
    shots = [Shot("all", tuple(f"request-{n}" for n in range(8)), (1,) * 8)]
    shots.append(Shot("others", tuple(f"other-{n}" for n in range(8)), (2,) * 8))
    colours = faces(batch_rows(shots), shots)
    assert len(colours) == 16
    assert len(set.union(*colours.values())) == len(CUES)
