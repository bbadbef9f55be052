"""The race meter: its twin says each rate with its interval; bad input is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinlab.figures.race_meter import race_meter, race_meter_twin
from pinlab.figures.style import Drawing
from pinlab.serving import Rate

RATES = {1e-5: Rate(0, 20), 1e-3: Rate(12, 20), 5e-3: Rate(20, 20)}


def test_twin_lists_the_rates_in_order_of_latency() -> None:
    lines = race_meter_twin(dict(reversed(RATES.items())), host_seconds=1e-4)
    assert [line.split()[1] for line in lines[1:]] == ["10", "1,000", "5,000"]
    assert "12 of 20, 60 %, 95 % interval 39 % to 78 %" in lines[2]


def test_picture_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(race_meter(RATES, host_seconds=1e-4))


def test_one_rate_or_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="2 settings or more, got 1"):
        race_meter({1e-5: Rate(0, 20)}, host_seconds=1e-4)
    with pytest.raises(ValueError, match="host_seconds=0"):
        race_meter(RATES, host_seconds=0)
