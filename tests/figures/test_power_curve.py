"""Power curves are exact, and say at which number of runs a failure is found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from pinlab.figures.power_curve import power, power_curve, power_curve_twin, runs_for
from pinlab.figures.style import Drawing

RATES = [0.2, 0.05, 0.01]
SIMULATED = {0.2: {5: 0.67, 50: 1.0}, 0.05: {20: 0.64}, 0.01: {300: 0.95}}


@pytest.mark.parametrize("rate", ["0.5", "0.2", "0.05", "0.01", "0.003", "0.95", "0.99"])
def test_number_of_runs_is_the_smallest_that_is_enough(rate: str) -> None:
    """Counted up in exact fractions."""
    clean, runs, allowed = Fraction(1), 0, Fraction(5, 100)
    while clean > allowed:
        clean *= 1 - Fraction(rate)
        runs += 1
    assert runs_for(float(rate)) == runs


def test_power_is_what_a_simulation_gives() -> None:
    series = np.random.default_rng(7).random((20_000, 5)) < 0.2
    assert power(0.2, 5) == pytest.approx(series.any(axis=1).mean(), abs=0.01)


def test_twin_puts_exact_and_simulated_side_by_side() -> None:
    _, titles, *rows = power_curve_twin(RATES, SIMULATED)
    assert titles.split()[-4:] == ["n=5", "n=20", "n=50", "n=300"]
    assert rows[0].split() == "20 % 14 runs 67.2 (67.0) 98.8 100.0 (100.0) 100.0".split()
    assert [int(row.split()[2]) for row in rows] == [14, 59, 299]


def test_picture_is_readable(assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(power_curve(RATES, SIMULATED))


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 0.001])
def test_a_rate_out_of_range_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="rate="):
        power_curve([rate], {})


def test_a_simulation_of_nothing_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rate=0\.5, which is not drawn"):
        power_curve([0.2], {0.5: {5: 0.9}})
    with pytest.raises(ValueError, match="2000 runs"):
        power_curve([0.2], {0.2: {2000: 0.9}})
    with pytest.raises(ValueError, match="1 to 4 rates, got 0"):
        power_curve([], {})
