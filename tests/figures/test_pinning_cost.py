"""The picture of what host memory costs, and its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinlab.figures.pinning_cost import pinning_cost, pinning_cost_alt, pinning_cost_twin
from pinlab.figures.style import Drawing
from pinlab.sim.costs import Cost

SIZES = (4096, 16384, 65536, 262144, 1048576)
WAYS = ("pageable, new", "pinned, new", "pinned, from the cache", "pinned, reused")


def line(way: str, scale: float, faults: int | None = 1) -> list[Cost]:
    return [
        Cost(way, n, scale * n * 1e-9, faults and faults * (n // 4096)) for n in SIZES
    ]  # faults 0 and None stay what they are


def four() -> list[Cost]:
    return [
        *line(WAYS[0], 0.5),
        *line(WAYS[1], 0.8),
        *line(WAYS[2], 0.2, faults=0),
        *line(WAYS[3], 0.03, faults=0),
    ]


def test_four_ways_and_five_sizes_are_readable(
    assert_readable: Callable[[Drawing], None],
) -> None:
    assert_readable(pinning_cost(four()))


def test_the_points_are_the_measured_numbers() -> None:
    drawing = pinning_cost(four())
    time, faults = drawing.axes
    assert [str(one.get_label()) for one in time.lines] == list(WAYS)
    assert list(time.lines[1].get_ydata()) == pytest.approx([0.8 * n * 1e-3 for n in SIZES])
    assert list(faults.lines[0].get_ydata()) == [1, 4, 16, 64, 256]
    assert list(faults.lines[3].get_ydata()) == [0] * 5


def test_equal_lines_differ_in_colour_and_in_a_second_cue() -> None:
    faults = pinning_cost(four()).axes[1].lines
    looks = [(str(one.get_marker()), str(one.get_linestyle())) for one in faults]
    assert len({one.get_color() for one in faults}) == 4
    assert len(set(looks)) == 4


def test_the_twin_has_every_number() -> None:
    twin = pinning_cost_twin(four())
    assert twin[0].startswith("pinning cost: ")
    assert twin[1].split("  ")[-1] == "1 MiB"
    assert len(twin) == 6
    assert "pinned, new" in twin[3]
    assert "13.1 µs, 4" in twin[3]
    assert twin[3].endswith("839 µs, 256")


def test_the_alt_text_says_what_the_largest_size_costs() -> None:
    alt = pinning_cost_alt(four())
    assert alt.startswith("Time and page faults by size. At 1 MiB: pageable, new 524 µs, 256 page")
    assert "pinned, reused 31.5 µs, 0 page faults" in alt


def test_the_order_of_measuring_does_not_matter_and_an_iterator_will_do() -> None:
    backwards = sorted(four(), key=lambda cost: (WAYS.index(cost.way), -cost.nbytes))
    assert pinning_cost(iter(backwards)).twin == pinning_cost(four()).twin


def test_where_faults_are_not_counted_the_panel_says_so(
    assert_readable: Callable[[Drawing], None],
) -> None:
    drawing = pinning_cost(line("pinned, new", 1.0, faults=None))
    assert not drawing.axes[1].lines
    assert [text.get_text() for text in drawing.axes[1].texts] == ["not counted here"]
    assert "page faults not counted" in drawing.alt
    assert drawing.twin[2].endswith(", -")
    assert_readable(drawing)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([], "1 to 4 ways, got 0"),
        (line("a", 1.0)[:1], "2 to 8 different sizes, got \\[4096\\]"),
        (line("a", 1.0) + line("a", 2.0)[:1], "different sizes"),
        (line("a", 1.0) + line("b", 1.0)[1:], "'b' has the sizes"),
        ([cost for way in "abcde" for cost in line(way, 1.0)], "1 to 4 ways, got 5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(costs: list[Cost], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pinning_cost(costs)
