"""Power curve: how likely a test that fails now and then is to fail at least once in n runs.

The curves are exact, 1 − (1 − rate)^n; markers are a simulation that was made without the formula.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from pinlab.figures.style import QUIET, SMALLEST, Drawing, cue, house_style

WIDTH, HEIGHT = 6.8, 3.3  # inches
RUNS = (1, 1_000)  # ends of the axis
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
SURE = 0.95
LIMIT = 4  # curves

Simulated = Mapping[float, Mapping[int, float]]  # rate -> runs -> share of series with a failure


@house_style
def power_curve(rates: Sequence[float], simulated: Simulated) -> Drawing:
    """Draw one curve for each rate of failure.

    Args:
        rates: of a single run, each above 0 and below 1; at most four.
        simulated: for some of them, number of runs → share of simulated series that showed the
            failure at least once.

    Raises:
        ValueError: for a rate or a number of runs out of range.

    >>> power_curve([0.2], {}).alt
    'Power curves for a failure in 20 % of runs: found with 95 % chance after 14 runs.'
    """
    _check(rates, simulated)
    drawing = Drawing(width=WIDTH, height=HEIGHT)
    axes = drawing.add_axes((0.1, 0.16, 0.62, 0.78))
    runs = np.geomspace(*RUNS, 200)
    for index, rate in enumerate(rates):
        look = cue(index)
        axes.plot(runs, 100 * power(rate, runs), color=look.ink, linestyle=look.line)
        points = sorted(simulated.get(rate, {}).items())
        shares = [100 * share for _, share in points]
        axes.plot([n for n, _ in points], shares, look.marker, color=look.ink, markersize=5)
        here = runs_for(rate)
        axes.plot([here, here], [0, 95], color=look.ink, linewidth=0.8, linestyle=":")
    axes.axhline(100 * SURE, color=QUIET, linewidth=0.9)
    axes.text(RUNS[1] * 1.1, 100 * SURE, f"{SURE:.0%}".replace("%", " %"), va="center", color=QUIET)
    axes.set_xscale("log")
    axes.set_xlim(*RUNS)
    axes.set_ylim(0, 102)
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.yaxis.set_major_locator(FixedLocator(range(0, 101, 20)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    axes.set_xlabel("runs")
    axes.set_ylabel("chance of at least one failure, %")
    axes.grid(axis="y")
    handles = []
    for index, rate in enumerate(rates):
        look = cue(index)
        words = f"{percent(rate)} of runs fail"
        (handle,) = axes.plot(
            [], [], color=look.ink, linestyle=look.line, marker=look.marker, label=words
        )
        handles.append(handle)
    drawing.legend(handles=handles, loc="center right", fontsize=SMALLEST, handlelength=2.6)
    twin = power_curve_twin(rates, simulated)
    return drawing.described(twin=twin, alt=power_curve_alt(rates, simulated))


def power_curve_twin(rates: Sequence[float], simulated: Simulated) -> list[str]:
    """One line for each rate: when it is found with 95 % chance; exact and simulated values."""
    _check(rates, simulated)
    counts = sorted({n for points in simulated.values() for n in points})
    columns = "".join(f"{f'n={n}':>15}" for n in counts)
    lines = ["power curves: chance in % of at least one failure in n runs, exact (simulated)"]
    lines.append(f"  runs that fail  95 % after{columns}")
    for rate in rates:
        squares = [_square(rate, n, simulated.get(rate, {}).get(n)) for n in counts]
        after = f"{runs_for(rate):,} runs"
        lines.append(f"  {percent(rate):>14}{after:>12}" + "".join(squares))
    return lines


def _square(rate: float, runs: int, share: float | None) -> str:
    simulated = "" if share is None else f" ({100 * share:.1f})"
    return f"{100 * power(rate, runs):.1f}{simulated}".rjust(15)


def power_curve_alt(rates: Sequence[float], simulated: Simulated) -> str:
    """One line: each rate, and after how many runs it is found with 95 % chance."""
    _check(rates, simulated)
    shown = ", ".join(percent(rate).removesuffix(" %") for rate in rates)
    after = ", ".join(f"{runs_for(rate):,}" for rate in rates)
    return (
        f"Power curves for a failure in {shown} % of runs: found with 95 % chance after {after} "
        "runs."
    )


def power(rate: float, runs: float | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Chance of at least one failure in `runs` independent runs; takes arrays too.

    >>> round(power(0.2, 5), 4)
    0.6723
    """
    return 1 - (1 - rate) ** runs  # type: ignore[return-value]


def runs_for(rate: float) -> int:
    """The smallest number of runs that shows the failure with 95 % chance or more.

    >>> runs_for(0.2), runs_for(0.01)
    (14, 299)
    """
    guess = max(1, math.ceil(math.log(1 - SURE) / math.log1p(-rate)))
    return guess if power(rate, guess) >= SURE else guess + 1


def percent(rate: float) -> str:
    """``0.05`` as ``"5 %"``."""
    return f"{100 * rate:g} %"


def _check(rates: Sequence[float], simulated: Simulated) -> None:
    if not 1 <= len(rates) <= LIMIT:
        raise ValueError(f"power curves are drawn for 1 to {LIMIT} rates, got {len(rates)}")
    for rate in rates:
        if not 0.003 <= rate < 1:
            raise ValueError(f"rate={rate}; it must be from 0.003 to below 1")
    for rate, points in simulated.items():
        if rate not in rates:
            raise ValueError(f"simulated for rate={rate}, which is not drawn")
        for n, share in points.items():
            if not RUNS[0] <= n <= RUNS[1] or not 0 <= share <= 1:
                raise ValueError(f"rate={rate}: {n} runs with share {share} is out of range")
