"""Check 08.2: a type of which every object holds the bytes of one moment."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from pinlab.classroom.attackers import STEP, lines_of
from pinlab.classroom.checks.all_schedules import explored, told
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.detect import alias_map
from pinlab.device import pick_device

CLASS_PLEASE = "Give the class itself: the check makes its own objects."


def share(one: Any, other: Any) -> bool:
    """Whether two tensors or arrays look at one memory."""
    return len(alias_map(one=one, other=other).groups) == 1


def _story(lens_cls: Any, late: bool) -> list[int]:
    """Take a snapshot, rewrite the source before (late=False) or after the upload."""
    rows = torch.tensor(STEP, dtype=torch.int32, pin_memory=True)
    lens = lens_cls(rows[:3])
    if not late:
        rows[1] = 40
    arrived = lens.upload(pick_device())
    rows[2] = 1 if late else 8
    found: list[int] = arrived.tolist()
    return found


def grade_snapshot(lens_cls: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if not isinstance(lens_cls, type):
        return wrong(CLASS_PLEASE)
    if is_stub(getattr(lens_cls, "__init__", None)):
        return not_answered("The constructor keeps no tensor yet.")
    if is_stub(getattr(lens_cls, "upload", None)):
        return not_answered("upload() does nothing yet.")
    for lengths in (STEP, [5, 1]):
        made = attempt(lens_cls, torch.tensor(lengths, dtype=torch.int32))
        arrived = attempt(lambda made=made: made.upload(pick_device()))
        there = isinstance(arrived, torch.Tensor) and arrived.device.type == pick_device().type
        if not there or arrived.tolist() != lengths:
            return wrong(
                f"Of {lengths} upload() must return {lengths} as a tensor on the device, got "
                f"{arrived!r}{' on the host' * isinstance(arrived, torch.Tensor) * (not there)}."
            )
    for late, belief, said in (
        (
            False,
            "M2",
            "The source was rewritten between the constructor and upload(), and it "
            "shows: the constructor kept a view, and a copy in upload() is too late.",
        ),
        (True, "M4", "The source was rewritten after upload(), and it shows."),
    ):
        program = partial(_story, lens_cls, late)
        report = explored(program, STEP, _story, *lines_of(lens_cls))
        if not report.correct and _uploads_in_the_constructor(lens_cls):
            return wrong(
                "The constructor queues an upload, and an upload that is queued has taken nothing "
                f"yet: {told(report)}. The copy that takes the bytes now is one on the host.",
                "M3",
            )
        if not report.correct:
            return wrong(f"{said} {told(report)}.", belief, "alias_map(lens=lens, rows=rows)")
    rows = torch.tensor(STEP, dtype=torch.int32)
    kept = _arrays(attempt(lens_cls, rows))
    if any(share(rows, array) for array in kept):
        return wrong("The rows are copied, and yet the object also keeps a view of them.", "M2")
    return right("Whoever holds one holds bytes of one moment. Proved over all schedules.")


def _uploads_in_the_constructor(lens_cls: Any) -> bool:
    made = attempt(lens_cls, torch.tensor(STEP, dtype=torch.int32, pin_memory=True))
    kept = [one for one in _arrays(made) if isinstance(one, torch.Tensor)]
    return any(one.device.type == pick_device().type for one in kept)


def _arrays(thing: Any) -> list[torch.Tensor | np.ndarray[Any, Any]]:
    """Tensors and arrays that an object holds, in its slots and in lists of its own as well."""
    held = [*getattr(thing, "__dict__", {}).values()]
    for base in type(thing).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = name.startswith("__") and not name.endswith("__")
            held.append(
                getattr(thing, f"_{base.__name__.lstrip('_')}{name}" if hidden else name, None)
            )
    held += [part for group in held if isinstance(group, list | tuple) for part in group]
    return [one for one in held if isinstance(one, torch.Tensor | np.ndarray)]
