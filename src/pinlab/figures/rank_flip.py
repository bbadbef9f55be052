"""Rank flip: where each passage of one question stands in each run.

One column a run, the best place on top, one line a passage. The seven that move most have a colour
and a mark of their own; the others are thin, and lines that never move are light.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from pinlab.figures.style import CUES, GRID, INK, QUIET, SMALLEST, Drawing, cue, house_style
from pinlab.serving import RerankData, RerankResult

RUN_LIMIT, PASSAGE_LIMIT = 8, 14  # more do not fit on a page
WIDTH, LEFT, PLOT = 7.5, 0.45, 3.0  # inches: the figure, the places, the lines
ROW, HEAD, FOOT = 0.27, 0.55, 0.12  # inches
TEXT_CHARACTERS, QUERY_CHARACTERS, TWIN_CHARACTERS = 52, 76, 44


@house_style
def rank_flip(
    result: RerankResult, query: int, data: RerankData, names: Sequence[str] = ()
) -> Drawing:
    """Draw the places of a question's passages, 2 to 8 runs.

    Args:
        result: what ``run_rerank`` returned.
        query: which question.
        data: the texts that were ranked.
        names: one a run, such as ``"seed 1"``; ``"run 1"`` and so on if empty.

    Raises `IndexError` for a question that does not exist, `ValueError` for what does not fit.

    >>> from pinlab import sim
    >>> from pinlab.serving import load_rerank_data, run_rerank
    >>> sim.install()
    >>> rank_flip(run_rerank(runs=2), 1, load_rerank_data())  # doctest: +ELLIPSIS
    <Figure: Places of 12 passages in 2 runs for “Why is the Wi-Fi slow ... changes its place.>
    """
    places, names = _checked(result, query, data, names)
    runs, passages = places.shape
    height = HEAD + passages * ROW + FOOT
    drawing = Drawing(width=WIDTH, height=height)
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))  # y runs down
    axes.set_axis_off()
    _write(axes, 0.12, 0.15, _clipped(data.query_text(query), QUERY_CHARACTERS), weight="bold")
    across = LEFT + 0.3 + np.arange(runs) * (PLOT - 0.6) / (runs - 1)
    for x, name in zip(across, names, strict=True):
        _write(axes, x, 0.4, name, ha="center", color=QUIET)
    for place in range(passages):
        _write(axes, LEFT - 0.1, _down(place), str(place + 1), ha="right", color=QUIET)
    order = _most_moved_first(places)
    for index, passage in reversed([*enumerate(order)]):
        _line(axes, across, places[:, passage], index)
        text = f"p{passage}: {data.passage_text(query, passage)}"
        look = {"color": INK} if np.ptp(places[:, passage]) else {"color": QUIET}
        x = LEFT + PLOT + 0.05
        _write(axes, x, _down(places[-1, passage]), _clipped(text, TEXT_CHARACTERS), **look)
    twin = rank_flip_twin(result, query, data, names)
    return drawing.described(twin=twin, alt=rank_flip_alt(result, query, data, names))


def rank_flip_twin(
    result: RerankResult, query: int, data: RerankData, names: Sequence[str] = ()
) -> list[str]:
    """A table: the place of each passage in each run, in the order of the last run, 1 is best."""
    places, names = _checked(result, query, data, names)
    lines = [f"places in {len(names)} runs: {data.query_text(query)}"]
    wide = [max(len(name), 2) for name in names]
    lines.append("  passage  " + "  ".join(map(str.rjust, names, wide)))
    for passage in np.argsort(places[-1]).tolist():
        row = [str(place + 1) for place in places[:, passage].tolist()]
        text = _clipped(data.passage_text(query, passage), TWIN_CHARACTERS)
        said = "  ".join(map(str.rjust, row, wide))
        lines.append(f"  {f'p{passage}':<7}  {said}  {text}")
    moved = int(np.count_nonzero(np.ptp(places, axis=0)))
    return [*lines, f"  {moved} of {places.shape[1]} passages change their place"]


def rank_flip_alt(
    result: RerankResult, query: int, data: RerankData, names: Sequence[str] = ()
) -> str:
    """One line: how many passages move, and which one moves most."""
    places, names = _checked(result, query, data, names)
    spans = np.ptp(places, axis=0)
    text = f"Places of {len(spans)} passages in {len(names)} runs for “{data.query_text(query)}” "
    if not spans.any():
        return text + "All lines are level: no passage changes its place."
    most = _most_moved_first(places)[0]
    best, worst = int(places[:, most].min()) + 1, int(places[:, most].max()) + 1
    moved = np.count_nonzero(spans)
    return text + f"{moved} change their place; p{most} stands between {best} and {worst}."


def _checked(
    result: RerankResult, query: int, data: RerankData, names: Sequence[str]
) -> tuple[npt.NDArray[np.int64], list[str]]:
    data.text_number(query)  # IndexError names the question
    runs, passages = len(result), data.n_passages
    if not 2 <= runs <= RUN_LIMIT:
        raise ValueError(f"rank_flip draws 2 to {RUN_LIMIT} runs, got {runs}")
    if not 2 <= passages <= PASSAGE_LIMIT:
        raise ValueError(f"rank_flip draws 2 to {PASSAGE_LIMIT} passages, got {passages}")
    if result[0].orders.shape != (data.n_queries, passages):
        raise ValueError(
            f"the result ranks {list(result[0].orders.shape)} questions and passages, "
            f"the data has {[data.n_queries, passages]}"
        )
    if names and len(names) != runs:
        raise ValueError(f"{len(names)} names for {runs} runs")
    return result.positions(query), [*names] or [f"run {run + 1}" for run in range(runs)]


def _most_moved_first(places: npt.NDArray[np.int64]) -> list[int]:
    order: list[int] = np.argsort(-np.ptp(places, axis=0), kind="stable").tolist()
    return order


def _line(
    axes: Axes, across: npt.NDArray[np.float64], places: npt.NDArray[np.int64], index: int
) -> None:
    down = [_down(place) for place in places]
    if not np.ptp(places) or index >= len(CUES):
        colour = QUIET if np.ptp(places) else GRID
        axes.plot(across, down, color=colour, linewidth=1.1, marker="o", markersize=3, zorder=1)
        return
    look = cue(index)
    axes.plot(
        across,
        down,
        color=look.ink,
        linestyle=look.line,
        linewidth=1.8,
        marker=look.marker,
        markersize=6,
        zorder=3,
    )


def _down(place: float) -> float:
    return HEAD + (place + 0.5) * ROW


def _write(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    axes.text(x, y, text, **{"va": "center", "size": SMALLEST, **look})


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
