"""Checks of lesson 01, views: swap rows, break a snapshot, repair one, notice an alias.

Each runs the learner's function on buffers of its own and looks at bytes before and after.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong

Ints = npt.NDArray[np.int32]


def _lens() -> Ints:
    return np.array([3, 5, 2, 8, 0, 0], dtype=np.int32)


# --- 01.1 swap two rows of a buffer -----------------------------------------------------------


def _grade_swap(swap: Any) -> Verdict:
    rows = np.arange(12, dtype=np.int32).reshape(4, 3)
    start, watcher = rows.copy(), rows[1]
    result = attempt(swap, rows, 1, 3)
    wanted = start[[0, 3, 2, 1]]
    if np.array_equal(rows, wanted) and np.array_equal(watcher, wanted[1]):
        again = start.copy()
        attempt(swap, again, 2, 2)
        if not np.array_equal(again, start):
            return wrong("Rows 1 and 3 swap, but swap_rows(rows, 2, 2) changes the buffer.")
        return right(
            "The right-hand side was copied before the first row was written, so nothing was lost."
        )
    if np.array_equal(rows, start):
        if isinstance(result, np.ndarray) and np.array_equal(result, wanted):
            text = "You return swapped rows, but the buffer itself is as it was: swap it in place."
        else:
            text = "The buffer is as it was. A name inside your function may be bound anew."
        return wrong(text, "M1", "print(rows) before and after the call")
    if np.array_equal(rows[1], rows[3]) and np.array_equal(rows[[0, 2]], start[[0, 2]]):
        kept = 1 if np.array_equal(rows[1], start[1]) else 3
        return wrong(
            f"Both rows now hold row {kept}: the other was overwritten before it was read. "
            "rows[i] on the right is a view, not a saved value.",
            "M2",
            "saved = rows[1]; rows[1] = rows[3]; print(saved)",
        )
    if not np.array_equal(rows[[0, 2]], start[[0, 2]]):
        return wrong("Rows that were not to be swapped have changed too. Write rows i and j only.")
    return wrong(f"Rows 1 and 3 hold {rows[1].tolist()} and {rows[3].tolist()}: not a swap.")


# --- 01.2 break a safe function, 01.3 repair an unsafe one ------------------------------------


def _misfit(result: Any, lens: Ints, start: Ints, n: int) -> Verdict | None:
    """What is wrong with a result before the buffer moves on; None if nothing is."""
    if result is None or result is ...:
        return not_answered("Your function returned nothing; is `return` missing?")
    if not isinstance(result, torch.Tensor):
        kind = type(result).__name__
        return wrong(f"The function must return a torch tensor; yours returns a {kind}.")
    if result.shape != (n,):
        return wrong(f"The result has shape {tuple(result.shape)}, should be ({n},).")
    if result.dtype != torch.int32:
        dtype = str(result.dtype).removeprefix("torch.")
        return wrong(f"The numbers are of type {dtype} now; int32 is what the caller expects.")
    if result.tolist() != start[:n].tolist():
        return wrong(f"The result is {result.tolist()}, should be {start[:n].tolist()}.")
    if not np.array_equal(lens, start):
        return wrong("The caller's buffer changed during the call. Reading it must not write it.")
    if not lens.flags.writeable:
        return wrong(
            "The caller's buffer became read-only: now the scheduler cannot prepare the next step."
        )
    return None


def _grade_broken(function: Any) -> Verdict:
    lens, start = _lens(), _lens()
    result = attempt(function, lens, 3)
    misfit = _misfit(result, lens, start, 3)
    if misfit is not None:
        return misfit
    lens += 10
    if result.tolist() == start[:3].tolist():
        return wrong(
            "Still safe: the result keeps its numbers when the buffer is rewritten. "
            "Somewhere in it there is still a copy.",
            see="np.shares_memory(lens, broken(lens, 3).numpy())",
        )
    lens = _lens()
    misfit = _misfit(attempt(function, lens, 2), lens, start, 2)
    if misfit is not None:
        return misfit
    return right(
        "The same numbers at first, and then they move with the buffer: the result is a view."
    )


def _grade_repaired(function: Any) -> Verdict:
    lens, start = _lens(), _lens()
    first = attempt(function, lens, 3)
    misfit = _misfit(first, lens, start, 3)
    if misfit is not None:
        return misfit
    lens += 10
    if first.tolist() != start[:3].tolist():
        return wrong(
            "The result still moves with the buffer. .to(), .contiguous(), .view() and as_tensor() "
            "give back the same memory when there is nothing for them to do.",
            "M2",
            "np.shares_memory(lens, repaired(lens, 3).numpy())",
        )
    second = attempt(function, lens, 2)
    misfit = _misfit(second, lens, start + 10, 2)
    if misfit is not None:
        return misfit
    if first.tolist() != start[:3].tolist():
        return wrong(
            "The second call changed the result of the first: both look at one buffer of yours.",
            see="one = repaired(lens, 3); lens += 1; two = repaired(lens, 3); print(one)",
        )
    return right("Each call has memory of its own, so the buffer may move on.")


# --- 01.4 notice an alias ---------------------------------------------------------------------

Getter = Callable[[Ints], torch.Tensor]

GETTERS: tuple[tuple[str, Getter, bool], ...] = (
    ("lens[:3]", lambda lens: torch.from_numpy(lens[:3]), True),
    ("lens[:3].copy()", lambda lens: torch.from_numpy(lens[:3].copy()), False),
    ("lens[2:]", lambda lens: torch.from_numpy(lens[2:]), True),
    ("lens[1:2]", lambda lens: torch.from_numpy(lens[1:2]), True),
    ("lens[3:4]", lambda lens: torch.from_numpy(lens[3:4]), True),
    ("as_tensor(lens)", lambda lens: torch.as_tensor(lens), True),
    ("from_numpy(lens).to(int64)", lambda lens: torch.from_numpy(lens).to(torch.int64), False),
    ("from_numpy(lens).to(int32)", lambda lens: torch.from_numpy(lens).to(torch.int32), True),
)


def _grade_alias_test(moves: Any) -> Verdict:
    starts = [_lens(), np.zeros(6, dtype=np.int32)]
    # What the function writes may stand in the buffer already: then writing it shows nothing.
    # Negative numbers cannot: these are lengths.
    starts += [lens for lens in _written(moves, _lens()) if (lens >= 0).all()]
    for start in starts:
        for name, get, aliased in GETTERS:
            lens = start.copy()
            said = attempt(moves, get, lens)
            if said is None or said is ...:
                return not_answered("Your function returned nothing; is `return` missing?")
            if not isinstance(said, (bool, np.bool_)):
                return wrong(
                    f"Return True or False; yours returned {type(said).__name__}. "
                    "torch.equal(a, b) gives one answer for two tensors."
                )
            if not np.array_equal(lens, start):
                return wrong("The buffer is not as it was before the call: put its numbers back.")
            if bool(said) != aliased:
                return _misjudged(name, aliased, start)
    return right("This is a regression test that needs no GPU and no luck: it fails every time.")


def _written(moves: Any, start: Ints) -> list[Ints]:
    """The buffers that the function makes of `start` on its way, each once; none if it raises."""
    lens, seen = start.copy(), {start.tobytes(): start}

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        seen.setdefault(lens.tobytes(), lens.copy())
        return look if frame.f_code is moves.__code__ else None

    if not isinstance(moves, FunctionType):
        return []
    before = sys.gettrace()
    sys.settrace(look)
    try:
        moves(GETTERS[0][1], lens)
    except Exception:
        return []  # the next call says what it raised
    finally:
        sys.settrace(before)
    return list(seen.values())[:0:-1]  # the last first: by then everything is written


def _misjudged(name: str, aliased: bool, start: Ints) -> Verdict:
    where = f"the result of {name}, buffer {start.tolist()}"
    if not aliased:
        return wrong(
            f"A copy was called an alias: {where}. Equal numbers do not mean shared memory.",
            "M1",
            "lens = np.arange(3); print((lens == lens.copy()).all())",
        )
    if len(set(start.tolist())) == 1:
        number = start[0]
        return wrong(
            f"An alias was missed: {where}. Writing {number} over {number} changes no byte, so "
            "nothing showed. Write what differs from what is there."
        )
    if name in ("lens[2:]", "lens[1:2]", "lens[3:4]"):
        return wrong(
            f"An alias was missed: {where}. Which elements did you rewrite? (If you compared "
            "addresses: a view may begin further back.)"
        )
    return wrong(
        f"An alias was missed: {where}. Only a write in place shows it; binding a name anew or "
        "comparing objects does not.",
        "M1",
        "lens = lens + 1 against lens += 1",
    )


CHECKS = (
    Check(
        "01.1",
        _grade_swap,
        hints=(
            "When rows[i] = rows[j] has run, where are the old numbers of row i?",
            "Save row i in memory of its own first, or let an index that copies do it.",
            "rows[[i, j]] on the right of = is a copy; on the left it writes both rows.",
        ),
    ),
    Check(
        "01.2",
        _grade_broken,
        hints=(
            "Which of the three lines gives the result memory of its own?",
            "rows is a view already. What if own were rows?",
            "Replace rows.copy() by an expression that the table above calls shared.",
        ),
    ),
    Check(
        "01.3",
        _grade_repaired,
        hints=(
            "The table above has six expressions that copy. Which of them keep the type?",
            "You can copy on numpy's side, before from_numpy, or on torch's side, after it.",
            "lens[:n].copy() or torch.from_numpy(lens[:n]).clone(): either will do.",
        ),
    ),
    Check(
        "01.4",
        _grade_alias_test,
        hints=(
            "Take the result, keep its numbers somewhere safe, write the buffer, look again.",
            "Write so that every element really changes, in place: lens += 1.",
            "Before you write, keep lens.copy() and get(lens).clone(); at the end lens[:] = kept.",
        ),
    ),
)
