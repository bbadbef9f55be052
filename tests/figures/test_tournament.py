"""The tournament table says what the reports say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinlab.device import pick_device
from pinlab.figures.style import Drawing
from pinlab.figures.tournament import Judged, tournament, tournament_twin
from pinlab.schedules import explore
from pinlab.serving import VARIANTS
from pinlab.serving.scenarios import condense_and_add, late_host_reader

pick_device()


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return [
        Judged(
            name,
            VARIANTS[name].kind,
            explore(condense_and_add(VARIANTS[name].batch), expect=[10.0, 20.0, 40.0]),
            explore(late_host_reader(VARIANTS[name].batch), expect=[True, True, True]),
        )
        for name in ("clone", "event wait", "contiguous")
    ]


def test_each_row_says_right_or_the_schedule_that_fails(judged: list[Judged]) -> None:
    clone, event, contiguous = tournament_twin(judged)[1:]
    assert clone.count("✓ right") == 2
    assert event.split("ordering")[1].split() == ["✓", "right", "✗", "wrong", "at", "h"]
    assert contiguous.count("✗ wrong at h") == 2


def test_picture_is_readable(
    judged: list[Judged], assert_readable: Callable[[Drawing], None]
) -> None:
    assert_readable(tournament(judged))


def test_no_repair_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 24 repairs, got 0"):
        tournament([])
