"""The house style: cues that survive without colour, words attached, settings that do not leak."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib.colors import to_rgb

from pinlab.figures.style import CUES, HOUSE, INK, PALETTE, PAPER, QUIET, Drawing, cue, house_style


def luminance(colour: str) -> float:
    """Relative luminance as in WCAG 2.1."""
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_no_two_cues_share_a_colour_a_hatch_or_a_marker() -> None:
    for field in ("colour", "hatch", "marker", "line"):
        values = [getattr(one, field) for one in CUES]
        assert len(set(values)) == len(CUES), field
    assert {one.colour for one in CUES} < set(PALETTE.values())
    assert cue(len(CUES)) == cue(0)


@pytest.mark.parametrize("ground", [PAPER, *(one.tint for one in CUES)])
def test_text_stands_out_from_everything_it_is_written_on(ground: str) -> None:
    assert contrast(INK, ground) >= 7


def test_quiet_text_stands_out_from_the_paper() -> None:
    assert contrast(QUIET, PAPER) >= 4.5


def test_no_text_size_of_the_style_is_under_nine_points() -> None:
    sizes = {key: value for key, value in HOUSE.items() if key.endswith("size")}
    assert sizes
    assert min(sizes.values()) >= 9


def test_a_drawing_without_words_is_refused() -> None:
    for alt in ("short", "two lines are not\none line"):
        with pytest.raises(ValueError, match="alt text"):
            Drawing(2, 1).described(twin=["x"], alt=alt)
    for twin in ([], ["one", " "]):
        with pytest.raises(ValueError, match="twin"):
            Drawing(2, 1).described(twin=twin, alt="A sentence of enough length.")
    drawing = Drawing(2, 1).described(twin=["x"], alt="A sentence of enough length.")
    assert repr(drawing) == str(drawing) == "<Figure: A sentence of enough length.>"


def test_the_readers_settings_neither_reach_a_figure_nor_are_changed_by_it() -> None:
    @house_style
    def paper() -> str:
        return str(matplotlib.rcParams["figure.facecolor"])

    with matplotlib.rc_context({"figure.facecolor": "black", "font.size": 4}):
        assert paper() == PAPER
        assert matplotlib.rcParams["figure.facecolor"] == "black"
        assert matplotlib.rcParams["font.size"] == 4
