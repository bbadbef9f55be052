"""The picture of places over runs, and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pinlab.figures.rank_flip import rank_flip, rank_flip_alt, rank_flip_twin
from pinlab.figures.style import CUES, Drawing
from pinlab.serving import RerankResult, RerankRun, load_rerank_data, offline_scores, rank_order

DATA = load_rerank_data()
SCORES = offline_scores(DATA)


def result(*changes: float) -> RerankResult:
    """One run for each change: question 4's passages 0, 1, … have it added, by turns + and -."""
    runs = []
    for change in changes:
        scores = SCORES.copy()
        scores[4] += change * np.where(np.arange(DATA.n_passages) % 2, -1, 1)
        orders = np.array([rank_order(row) for row in scores])
        runs.append(RerankRun(scores, orders, 0.5))
    return RerankResult("test", tuple(runs))


def test_every_question_with_two_to_eight_runs_is_readable(
    assert_readable: Callable[[Drawing], None],
) -> None:
    for query in (0, DATA.n_queries - 1):
        assert_readable(rank_flip(result(0, 3), query, DATA))
    assert_readable(rank_flip(result(0, 1, 2, 3, 4, 5, 6, 7), 4, DATA, [f"s{n}" for n in range(8)]))
    assert_readable(rank_flip(result(0, 9, 3, 9, 1), 4, DATA, [f"seed {n}" for n in range(5)]))


def test_the_lines_are_the_places() -> None:
    seen = result(0, 9, 3)
    places = seen.positions(4)
    drawn = {
        tuple(np.round(line.get_ydata(), 6)) for line in rank_flip(seen, 4, DATA).axes[0].lines
    }
    level = rank_flip(result(0, 0, 0), 4, DATA).axes[0].lines
    heights = sorted(float(line.get_ydata()[0]) for line in level)
    assert drawn == {tuple(np.round([heights[p] for p in column], 6)) for column in places.T}


def test_the_seven_that_move_most_have_a_colour_and_a_second_cue() -> None:
    seen = result(0, 9)
    lines = rank_flip(seen, 4, DATA).axes[0].lines
    coloured = [line for line in lines if line.get_linewidth() > 1.5]
    assert len(coloured) == min(len(CUES), np.count_nonzero(np.ptp(seen.positions(4), axis=0)))
    looks = {(line.get_color(), line.get_marker()) for line in coloured}
    assert len(looks) == len({marker for _, marker in looks}) == len(coloured)


def test_the_twin_lists_every_place_in_the_order_of_the_last_run() -> None:
    seen = result(0, 9)
    twin = rank_flip_twin(seen, 4, DATA, ["seed 1", "seed 2"])
    assert twin[0] == "places in 2 runs: What is the difference between TCP and UDP?"
    assert twin[1].split() == ["passage", "seed", "1", "seed", "2"]
    places = seen.positions(4)
    for line in twin[2:-1]:
        name, first, second = line.split()[:3]
        assert [int(first) - 1, int(second) - 1] == places[:, int(name[1:])].tolist()
    assert [line.split()[2] for line in twin[2:-1]] == [str(n + 1) for n in range(12)]


def test_the_alt_text_names_the_passage_that_moves_most() -> None:
    seen = result(0, 9)
    spans = np.ptp(seen.positions(4), axis=0)
    alt = rank_flip_alt(seen, 4, DATA)
    assert f"{np.count_nonzero(spans)} change their place; p{spans.argmax()} stands between" in alt


def test_where_nothing_moves_the_words_say_so(assert_readable: Callable[[Drawing], None]) -> None:
    drawing = rank_flip(result(0, 0), 4, DATA)
    assert "no passage changes its place" in drawing.alt
    assert drawing.twin[-1].strip() == "0 of 12 passages change their place"
    assert_readable(drawing)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="2 to 8 runs, got 1"):
        rank_flip(result(0), 4, DATA)
    with pytest.raises(ValueError, match="1 names for 2 runs"):
        rank_flip(result(0, 1), 4, DATA, ["one"])
    with pytest.raises(IndexError, match="query 8"):
        rank_flip(result(0, 1), 8, DATA)
    one = result(0, 1)
    cut = [replace(run, orders=run.orders[:, :3]) for run in one]
    with pytest.raises(ValueError, match="the result ranks"):
        rank_flip(replace(one, runs=tuple(cut)), 4, DATA)
