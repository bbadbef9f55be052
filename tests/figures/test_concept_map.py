"""The concept map shows every lesson and idea of its data, and refuses data that is no map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pinlab.classroom.series import SERIES
from pinlab.figures.concept_map import concept_map, concept_map_alt, concept_map_twin
from pinlab.figures.style import Drawing


def test_picture_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(concept_map(SERIES))


def test_a_small_series_is_readable_too(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(concept_map(SERIES[:1]))


def test_picture_and_twin_name_every_lesson_idea_and_belief() -> None:
    drawing = concept_map(SERIES)
    drawn = {text.get_text() for axes in drawing.axes for text in axes.texts}
    twin = "\n".join(drawing.twin)
    for lesson in SERIES:
        assert f"{lesson.number} {lesson.title}" in drawn
        assert f"{lesson.number} {lesson.title}" in twin
        assert set(lesson.gives) <= drawn
        for word in (*lesson.gives, *lesson.needs, *lesson.beliefs):
            assert word in twin
    words = " ".join(drawn).split()
    assert {belief for lesson in SERIES for belief in lesson.beliefs} <= set(words)


def test_there_is_one_arrow_for_each_gives_and_needs() -> None:
    (axes,) = concept_map(SERIES).axes
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == sum(len(lesson.gives) + len(lesson.needs) for lesson in SERIES)


def test_alt_text_names_where_most_comes_together() -> None:
    assert "alias, late reader and hasty writer" in concept_map_alt(SERIES)


def test_data_that_is_no_map_is_refused_by_name() -> None:
    first, second = SERIES[:2]
    with pytest.raises(ValueError, match="at least one lesson"):
        concept_map([])
    with pytest.raises(ValueError, match="needs 'five orders', which nobody gave before"):
        concept_map([second])
    with pytest.raises(ValueError, match="'alias' is given by 01 and 02"):
        concept_map_twin([first, second, replace(second, number="02")])
    many = [replace(second, number=f"1{n}", gives=(f"idea {n}",)) for n in range(5)]
    with pytest.raises(ValueError, match="5 lessons on one level; a concept map has room for 4"):
        concept_map([first, *many])
