"""Race meter: how often a race went wrong, against how slow the link is next to the host.

Each point is a number of free runs with its Wilson interval. The picture says nothing about a real
GPU: its x axis is the simulated link's own setting.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.ticker import FixedLocator, NullLocator

from pinlab.figures.style import HAZARD, QUIET, Drawing, house_style
from pinlab.serving import Rate

WIDTH, HEIGHT = 6.4, 3.1  # inches


@house_style
def race_meter(rates: Mapping[float, Rate], host_seconds: float) -> Drawing:
    """Draw measured rates.

    Args:
        rates: seconds of the link's latency → the rate of wrong runs.
        host_seconds: what the host needs between queueing the copy and writing its source.

    Raises:
        ValueError: for fewer than two rates, or a time that is not above zero.

    >>> race_meter({1e-5: Rate(1, 20), 1e-3: Rate(19, 20)}, host_seconds=2e-4).alt
    'Race meter: wrong runs against link latency over host time, 2 settings, from 5 % to 95 %.'
    """
    _check(rates, host_seconds)
    drawing = Drawing(width=WIDTH, height=HEIGHT)
    axes = drawing.add_axes((0.12, 0.2, 0.85, 0.66))
    points = sorted(rates.items())
    ratios = [latency / host_seconds for latency, _ in points]
    middle = [100 * rate.value for _, rate in points]
    ends = [rate.interval() for _, rate in points]
    below = [m - 100 * low for m, (low, _) in zip(middle, ends, strict=True)]
    above = [100 * high - m for m, (_, high) in zip(middle, ends, strict=True)]
    look = {"marker": "o", "capsize": 4, "linewidth": 1.4, "color": HAZARD}
    axes.errorbar(ratios, middle, yerr=[below, above], **look)  # type: ignore[arg-type]
    axes.set_xscale("log")
    axes.set_xlim(min(ratios) / 1.6, max(ratios) * 1.6)
    axes.xaxis.set_major_locator(FixedLocator(ratios))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda ratio, _: f"{ratio:.2g}")
    axes.set_ylim(-4, 104)
    axes.set_xlabel("link latency ÷ host time between copy and write")
    axes.set_ylabel("wrong runs, %")
    axes.axvline(1.0, color=QUIET, linewidth=0.9, linestyle=":")
    axes.set_title("simulated link, free-running; bars are 95 % Wilson intervals", fontsize=9.5)
    axes.grid(axis="y")
    twin = race_meter_twin(rates, host_seconds)
    return drawing.described(twin=twin, alt=race_meter_alt(rates, host_seconds))


def race_meter_twin(rates: Mapping[float, Rate], host_seconds: float) -> list[str]:
    """One line for each setting."""
    _check(rates, host_seconds)
    lines = [f"race meter: {len(rates)} settings of the link, free-running"]
    for latency, rate in sorted(rates.items()):
        lines.append(f"  latency {latency * 1e6:>7,.0f} µs  {str(rate).removeprefix('Rate: ')}")
    return lines


def race_meter_alt(rates: Mapping[float, Rate], host_seconds: float) -> str:
    """One line: how many settings, and the range of rates."""
    _check(rates, host_seconds)
    low, high = (f(rate.value for rate in rates.values()) * 100 for f in (min, max))
    return (
        f"Race meter: wrong runs against link latency over host time, {len(rates)} settings, "
        f"from {low:.0f} % to {high:.0f} %."
    )


def _check(rates: Mapping[float, Rate], host_seconds: float) -> None:
    if len(rates) < 2:
        raise ValueError(f"a race meter compares 2 settings or more, got {len(rates)}")
    if not host_seconds > 0:
        raise ValueError(f"host_seconds={host_seconds}; it must be above 0")
