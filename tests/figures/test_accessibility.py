"""What can be computed of accessibility: contrast, and the palette in each kind of colour vision.

The oracle for colour vision is colorspacious: the model of Machado and others (2009), at full
severity, and distances in CAM02-UCS, where about 1 is just noticeable side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE
from matplotlib.colors import to_rgb

from pinlab.figures.style import (
    CUES,
    HAZARD,
    INK,
    PAPER,
    QUIET,
    Cue,
    contrast,
    darkened,
)
from tests.figures.test_style import contrast as contrast_by_definition

VISIONS = (None, "deuteranomaly", "protanomaly", "tritanomaly")
PAIRS = list(itertools.combinations(CUES, 2))


def seen(colour: str, vision: str | None) -> np.ndarray:
    rgb = to_rgb(colour)
    if vision is None:
        return np.asarray(rgb)
    space = {"name": "sRGB1+CVD", "cvd_type": vision, "severity": 100}
    return np.clip(cspace_convert(rgb, space, "sRGB1"), 0, 1)


def apart(one: str, other: str, vision: str | None) -> float:
    return float(deltaE(seen(one, vision), seen(other, vision)))


@pytest.mark.parametrize("vision", VISIONS)
def test_the_palette_stays_apart(vision: str | None) -> None:
    closest = min(PAIRS, key=lambda pair: apart(pair[0].colour, pair[1].colour, vision))
    assert apart(closest[0].colour, closest[1].colour, vision) >= 10, closest


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("face", [lambda c: c.ink, lambda c: c.tint], ids=["ink", "tint"])
def test_what_could_be_taken_for_each_other_has_other_marks(
    vision: str | None, face: Callable[[Cue], str]
) -> None:
    near = [(a, b) for a, b in PAIRS if apart(face(a), face(b), vision) < 10]
    assert near or vision is None  # fills are pale, inks as dark as their neighbours
    for one, other in near:
        assert apart(face(one), face(other), vision) >= 2
        assert (one.hatch, one.marker, one.line) != (other.hatch, other.marker, other.line)
        assert one.hatch != other.hatch


@pytest.mark.parametrize("cue", CUES, ids=[cue.colour for cue in CUES])
def test_edges_stand_out_from_the_paper_and_from_their_own_fill(cue: Cue) -> None:
    assert contrast(cue.ink, PAPER) >= 3
    assert contrast(cue.ink, cue.tint) >= 2  # the fill carries no meaning without edge and hatch


def test_what_goes_wrong_is_written_in_a_colour_that_can_be_read() -> None:
    assert contrast(HAZARD, PAPER) >= 4.5
    assert min(contrast(HAZARD, c) for c in (PAPER, "#ffffff")) >= 4.5


def test_grey_and_colour_are_told_apart_without_colour() -> None:
    assert contrast(QUIET, PAPER) / contrast(INK, PAPER) < 0.6


@pytest.mark.parametrize("least", [3.0, 4.5, 7.0])
def test_a_colour_is_darkened_no_more_than_it_needs(least: float) -> None:
    for cue in CUES:
        shade = darkened(cue.colour, least)
        assert contrast_by_definition(shade, PAPER) >= least
        if contrast_by_definition(cue.colour, PAPER) >= least:
            assert shade == cue.colour.lower()


def test_the_contrast_is_that_of_the_definition() -> None:
    for one, other in itertools.product([INK, PAPER, *(c.colour for c in CUES)], repeat=2):
        assert contrast(one, other) == pytest.approx(contrast_by_definition(one, other))
