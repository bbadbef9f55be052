"""Checks of lesson 03, non_blocking: be the copy engine, list what can arrive, repair both ways.

The two repairs are in ``reuse.py`` and ``fetch.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pinlab import sim
from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.fetch import grade_fetch
from pinlab.classroom.checks.reuse import grade_reuse
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.classroom.question import is_open
from pinlab.device import pick_device
from pinlab.schedules import explore

OLD, NEW = [3, 5, 2], [7, 4, 6]
MIXED = ([7, 5, 2], [7, 4, 2])


def _row(numbers: list[int]) -> torch.Tensor:
    return torch.tensor(numbers, pin_memory=True)


def _there() -> torch.Tensor:
    return torch.zeros(3, dtype=torch.int64, device=pick_device())


# --- 03.1 be the copy engine ------------------------------------------------------------------


def _grade_engine(corrupt: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    row, there = _row(OLD), _there()
    with sim.mode("lazy"):
        with sim.record(row=row) as run:
            attempt(corrupt, row, there)
        arrived = there.tolist()
    writes = [event.time for event in run.host if event.kind == "write"]
    if row.tolist() != NEW:
        return wrong(
            f"Keep the host's lines as they are: at the end the row holds {row.tolist()}, "
            f"should be {NEW}."
        )
    if len(writes) < 2:
        return wrong("Write the three numbers one by one, each in a line of its own.")
    uploads = [op for op in run.operations if op.kind == "upload" and op.host_reads]
    if len(run.operations) != 1 or len(uploads) != 1:
        return wrong("Keep the host's lines as they are: one non_blocking copy of row into there.")
    if any(event.kind == "wait" for event in run.host):
        return wrong("The host waited. You are the engine: call sim.step() and let nobody wait.")
    if writes[0] <= uploads[0].queued:
        return wrong(
            "The row was written before the copy was queued, so it was sent as it stood. Keep the "
            "order of the four lines; only sim.step() is yours to place."
        )
    if arrived == OLD:
        return wrong(
            f"The device got {OLD}: you copied before the host wrote anything. That is the lucky "
            "schedule, the one that most test runs see.",
            "M8",
            "the same function with sim.step() one line further down",
        )
    if arrived == NEW:
        late = "after the last write" if uploads[0].ended < run.ended else "only at the end"
        return wrong(
            f"The device got {NEW}: the copy ran {late}. Well-formed, and the wrong step's. "
            "Now a row that nobody ever meant to send.",
            "M14",
            "there.tolist() after each place for sim.step()",
        )
    if arrived not in MIXED:
        return wrong(
            f"The device got {arrived}, which these four lines never make of the row. Keep them as "
            "they are, in their order."
        )
    return right(f"The device got {arrived}: half of one step, half of the next, and no error.")


# --- 03.2 list what can arrive ----------------------------------------------------------------


def rewrite_row() -> list[int]:
    """The program of exercise 2: a row is uploaded and then rewritten, number by number."""
    row, there = _row(OLD), _there()
    there.copy_(row, non_blocking=True)
    row[0] = 7
    row[1] = 4
    row[2] = 6
    arrived: list[int] = there.tolist()
    return arrived


def _grade_rows(rows: Any) -> Verdict:
    if isinstance(rows, (torch.Tensor, np.ndarray)):
        rows = rows.tolist()
    if not isinstance(rows, (list, tuple, set)) or not rows:
        return wrong("Give a list of rows, such as [[3, 5, 2]].")
    if any(is_open(row) for row in rows):
        return not_answered("There are still dots in the list.")
    said = [row.tolist() if isinstance(row, (torch.Tensor, np.ndarray)) else row for row in rows]
    if not all(_is_row(row) for row in said):
        return wrong("Each row is a list of three numbers, such as [3, 5, 2].")
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    told = {tuple(row) for row in said}
    report = explore(rewrite_row, expect=OLD)
    found = {tuple(row.value): str(ways[0]) for row, ways in report.outcomes.items()}
    for row in told - set(found):
        return wrong(
            f"No schedule brings {list(row)}. The host writes in the order of its lines, and the "
            "copy runs at one moment between two of them."
        )
    missing = [row for row in found if row not in told]
    if not missing:
        return right(f"These {len(found)}, and no others: all schedules were run.")
    return _missed(missing[0], found[missing[0]], told)


def _is_row(row: Any) -> bool:
    if not isinstance(row, (list, tuple)) or len(row) != 3:
        return False
    return all(isinstance(number, (int, float, np.number)) for number in row)


def _missed(row: tuple[int, ...], schedule: str, told: set[tuple[int, ...]]) -> Verdict:
    replay = (
        f'replay(rewrite_row, "{schedule}"), with replay from pinlab.schedules and rewrite_row '
        "from pinlab.classroom.checks.lesson_03"
    )
    rows = f"{len(told)} row" + "s" * (len(told) != 1)
    text = f"{rows}, and {list(row)} is missing: schedule “{schedule}” brings it."
    if told == {tuple(OLD)}:
        return wrong(text, "M3", replay)
    if list(row) == OLD:
        return wrong(text + " Luck is a schedule too.", "M8", replay)
    return wrong(text, "M14", replay)


CHECKS = (
    Check(
        "03.1",
        _grade_engine,
        hints=(
            "The copy reads all three numbers at the moment of sim.step(). What has the host "
            "written by then?",
            "Between the first and the last write there are two places. Either will do.",
            "Copy the four lines and put sim.step() right after row[0] = 7.",
        ),
    ),
    Check(
        "03.2",
        _grade_rows,
        hints=(
            "How many places are there for the copy, before, between and after three writes?",
            "Four. Write the row as it stands at each.",
            "[3, 5, 2], then with row[0] = 7, then with row[1] = 4 as well, then [7, 4, 6].",
        ),
    ),
    Check(
        "03.3",
        grade_reuse,
        hints=(
            "Two moments need a wait: before which writes of the row, and by whom?",
            "done.record() right after a copy, done.synchronize() before the next write.",
            "The caller's write comes when you return, so the second copy needs its wait as well. "
            "The same event may be recorded twice.",
        ),
    ),
    Check(
        "03.4",
        grade_fetch,
        hints=(
            "start() needs a pinned target and something that says when it is filled.",
            "Record an event after the copy, return (out, done); finish waits for done.",
            "out = torch.empty(result.shape, dtype=result.dtype, pin_memory=True); "
            "out.copy_(result, non_blocking=True); done = gpu.Event(); done.record()",
        ),
    ),
)
