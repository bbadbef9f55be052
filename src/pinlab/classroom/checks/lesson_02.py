"""Checks of lesson 02, pinned memory: foresee a late read, price a buffer, repair a batch.

The first is graded by what really arrives from a held stream, the last, in ``batch.py``, over all
schedules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.batch import grade_batch
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.upload import reads_late
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong

# --- 02.1 foresee a late read -----------------------------------------------------------------

Maker = Callable[[], torch.Tensor]


def _row(pin: bool) -> torch.Tensor:
    return torch.arange(1, 7, dtype=torch.int32, pin_memory=pin)


SAMPLES: tuple[tuple[str, Maker], ...] = (
    ("an ordinary tensor", lambda: _row(False)),
    ("a pinned tensor", lambda: _row(True)),
    ("pinned[2:5]", lambda: _row(True)[2:5]),
    ("torch.from_numpy(pinned.numpy()[1:])", lambda: torch.from_numpy(_row(True).numpy()[1:])),
    ("pinned.clone()", lambda: _row(True).clone()),
    ("pinned.view(2, 3)", lambda: _row(True).view(2, 3)),
    ("ordinary.pin_memory()", lambda: _row(False).pin_memory()),
    ("ordinary.view(3, 2)[:, 0]", lambda: _row(False).view(3, 2)[:, 0]),
    ("pinned.view(3, 2)[:, 0]", lambda: _row(True).view(3, 2)[:, 0]),
)


def _grade_late(predicate: Any) -> Verdict:
    said: dict[str, bool] = {}
    for name, make in SAMPLES:
        tensor = make()
        before = tensor.clone()
        answer = attempt(predicate, tensor)
        if answer is None or answer is ...:
            return not_answered("Your function returned nothing; is `return` missing?")
        if not isinstance(answer, (bool, np.bool_)):
            return wrong(f"Return True or False; yours returned {type(answer).__name__}.")
        if not torch.equal(tensor, before):
            return wrong("Your function changed the tensor that it was asked about.")
        said[name] = bool(answer)
    late = {name: reads_late(make()) for name, make in SAMPLES}
    for name in late:
        if said[name] != late[name]:
            return _misjudged_upload(name, late[name], said)
    return right(
        "Pinned and one run of bytes: then nothing on the host stands between the device and it."
    )


def _misjudged_upload(name: str, late: bool, said: dict[str, bool]) -> Verdict:
    if not late and all(said.values()):
        return wrong(
            f"{name.capitalize()} is staged: the call takes its bytes before it returns, although "
            "non_blocking=True is there.",
            "M5",
            "row = torch.tensor([3, 5, 2]); upload_then_write(row)",
        )
    if not late and "[:, 0]" in name and name.startswith("pinned"):
        return wrong(
            f"{name} is pinned, but its numbers do not lie side by side. torch packs them on the "
            "host at the call, so they are read at once.",
            see="tensor.is_contiguous() for each tensor that you were wrong about",
        )
    if not late:
        return wrong(
            f"{name}: that memory is pageable, so its bytes are taken before the call returns.",
            see="tensor.is_pinned() for each tensor that you were wrong about",
        )
    if not any(said.values()):
        return wrong(
            f"The device read {name} after the call had returned, when it held other numbers.",
            "M4",
            "row = torch.tensor([3, 5, 2], pin_memory=True); upload_then_write(row)",
        )
    return wrong(
        f"{name} was missed: a view of pinned memory is pinned, whatever it was made with.",
        "M2",
        "torch.from_numpy(pinned.numpy()).is_pinned()",
    )


# --- 02.2 price a buffer ----------------------------------------------------------------------

# (new pinned, reused, new pageable) in µs -> steps. Sums of these are exact in binary.
PRICES: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((128.0, 1.0, 5.0), 32),
    ((800.0, 30.0, 550.0), 2),
    ((100.0, 0.0, 200.0), 1),
    ((10.0, 4.0, 5.0), 10),
    ((100.0, 5.0, 5.0), math.inf),
    ((100.0, 6.0, 5.0), math.inf),
)


def _grade_steps(steps_to_pay: Any) -> Verdict:
    for prices, wanted in PRICES:
        got = attempt(steps_to_pay, *prices)
        if got is None and wanted == math.inf:
            return wrong("Where it never pays, yours returns None; “never” is math.inf here.")
        if got is None or got is ...:
            return not_answered("Your function returned nothing; is `return` missing?")
        if isinstance(got, bool) or not isinstance(got, (int, float, np.number)):
            return wrong(f"Return a number; yours returned {type(got).__name__}.")
        if got != wanted:
            return _mispriced(prices, wanted, float(got))
    return right(
        "The high price is paid once and the difference is saved each time, so the quotient counts."
    )


def _mispriced(prices: tuple[float, float, float], wanted: float, got: float) -> Verdict:
    first, each, instead = prices
    case = f"steps_to_pay({first:g}, {each:g}, {instead:g}) is {wanted:g}, yours says {got:g}. "
    if wanted == math.inf:
        return wrong(case + "If reusing saves nothing, the first price is never paid back.")
    if got == math.ceil(first / instead):
        return wrong(case + "Reusing a buffer is not free: its pages are written in each step.")
    if got == first / (instead - each):
        return wrong(case + "A part of a step pays for nothing: round up to whole steps.")
    if instead > each and got == math.ceil((first - each) / (instead - each)):
        return wrong(case + "Making it is a price of its own: the first step costs `reused` too.")
    if got < 0:
        return wrong(case + "You subtracted the higher price from the lower one.")
    total, other = first + wanted * each, wanted * instead
    return wrong(case + f"After {wanted:g} steps {total:g} stand against {other:g}.")


CHECKS = (
    Check(
        "02.1",
        _grade_late,
        hints=(
            "Which property of its source decided what arrived in 02.3?",
            "tensor.is_pinned() is nearly all. One of the samples is pinned and yet read at once: "
            "a column, whose numbers do not lie side by side.",
            "return tensor.is_pinned() and tensor.is_contiguous()",
        ),
    ),
    Check(
        "02.2",
        _grade_steps,
        hints=(
            "What do k steps cost in each way? Write both sums down.",
            "new_pinned + k * reused <= k * new_pageable; solve for k, and think of the sign.",
            "If new_pageable <= reused: math.inf. Else math.ceil of new_pinned over what a step "
            "saves.",
        ),
    ),
    Check(
        "02.3",
        grade_batch,
        hints=(
            "Which of the eight expressions have memory of their own?",
            "Copy on numpy's side of the line or on torch's; either copy is pageable.",
            "return torch.from_numpy(self.num_prompt_tokens[:n].copy())",
        ),
    ),
)
