"""Catch matrix: planted bugs down the side, tests along the top, and which test notices which bug.

A square says how often the test was red in a number of tries: always, never, or by luck.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from matplotlib.patches import Rectangle

from pinlab.figures.style import INK, PALETTE, PAPER, SMALLEST, Drawing, house_style, mixed
from pinlab.serving import Rate

Matrix = Mapping[str, Mapping[str, Rate]]  # bug -> test -> how often the test was red

NAMES, SQUARE, ROW, HEAD, GAP = 1.3, 1.02, 0.36, 0.5, 0.12  # inches
TITLE = 13  # characters in a line of a column's title
LIMITS = {"bugs": 12, "tests": 6}
LOOKS = {"caught": ("green", None), "missed": ("vermillion", "///"), "luck": ("yellow", "...")}


@house_style
def catch_matrix(matrix: Matrix) -> Drawing:
    """Draw the matrix.

    Args:
        matrix: for each bug, by name, the rate of each test; the same tests for all bugs.

    Raises:
        ValueError: for no bug or no test, too many, or rows with different tests.

    >>> catch_matrix({"alias": {"runs": Rate(0, 9)}, "typo": {"runs": Rate(9, 9)}}).alt
    'Catch matrix of 2 bugs by 1 test: 1 square caught, 1 missed, 0 left to luck.'
    """
    tests = _tests(matrix)
    width, height = NAMES + SQUARE * len(tests) + GAP, GAP + HEAD + ROW * len(matrix) + GAP
    drawing = Drawing(width=width, height=height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for column, test in enumerate(tests):
        title = "\n".join(textwrap.wrap(test, TITLE))
        middle = NAMES + (column + 0.5) * SQUARE
        axes.text(middle, GAP + HEAD / 2, title, ha="center", va="center", size=SMALLEST)
    for index, (bug, row) in enumerate(matrix.items()):
        top = GAP + HEAD + index * ROW
        axes.text(GAP, top + ROW / 2, bug, va="center", weight="bold", size=SMALLEST)
        for column, test in enumerate(tests):
            colour, hatch = LOOKS[_word(row[test])]
            left, ink = NAMES + column * SQUARE, PALETTE[colour]
            box = Rectangle(
                (left + 0.03, top + 0.03),
                SQUARE - 0.06,
                ROW - 0.06,
                facecolor=mixed(ink, PAPER, 0.3),
                edgecolor=mixed(ink, INK, 0.75),
                hatch=hatch,
                hatchcolor=mixed(ink, PAPER, 0.6),
            )
            axes.add_patch(box)
            plate = {"facecolor": PAPER, "edgecolor": "none", "boxstyle": "round,pad=0.12"}
            at = (left + SQUARE / 2, top + ROW / 2)
            words = square(row[test])
            axes.text(*at, words, ha="center", va="center", size=SMALLEST, bbox=plate)
    return drawing.described(twin=catch_matrix_twin(matrix), alt=catch_matrix_alt(matrix))


def catch_matrix_twin(matrix: Matrix) -> list[str]:
    """A line for each bug, a column for each test."""
    tests = _tests(matrix)
    lines = [f"catch matrix: {_plural(len(matrix), 'bug')}, {_plural(len(tests), 'test')}"]
    wide = max(map(len, matrix))
    heads = [max(len(test), len("luck 10/10")) for test in tests]
    titles = "  ".join(f"{test:{head}}" for test, head in zip(tests, heads, strict=True))
    lines.append(f"  {'':{wide}}  {titles}".rstrip())
    for bug, row in matrix.items():
        words = [f"{square(row[test]):{head}}" for test, head in zip(tests, heads, strict=True)]
        lines.append(f"  {bug:{wide}}  {'  '.join(words)}".rstrip())
    return lines


def catch_matrix_alt(matrix: Matrix) -> str:
    """One line: how many squares of each kind."""
    tests = _tests(matrix)
    words = [_word(row[test]) for row in matrix.values() for test in tests]
    return (
        f"Catch matrix of {_plural(len(matrix), 'bug')} by {_plural(len(tests), 'test')}: "
        f"{_plural(words.count('caught'), 'square')} caught, {words.count('missed')} missed, "
        f"{words.count('luck')} left to luck."
    )


def square(rate: Rate) -> str:
    """What a square says.

    >>> square(Rate(4, 10)), square(Rate(10, 10))
    ('luck 4/10', 'caught')
    """
    word = _word(rate)
    return f"luck {rate.hits}/{rate.tries}" if word == "luck" else word


def _word(rate: Rate) -> str:
    return "missed" if rate.hits == 0 else "caught" if rate.hits == rate.tries else "luck"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _tests(matrix: Matrix) -> list[str]:
    """The tests, in the order of the first row."""
    tests = list(next(iter(matrix.values()), {}))
    for name, count in (("bugs", len(matrix)), ("tests", len(tests))):
        if not 1 <= count <= LIMITS[name]:
            raise ValueError(f"a catch matrix shows 1 to {LIMITS[name]} {name}, got {count}")
    for bug, row in matrix.items():
        if set(row) != set(tests):
            raise ValueError(f"{bug!r} has the tests {sorted(row)}, should have {sorted(tests)}")
    return tests
