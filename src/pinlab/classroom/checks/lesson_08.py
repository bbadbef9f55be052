"""Checks of lesson 08, designing it out: names, a snapshot type, a buffer under attack."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from pinlab import sim
from pinlab.classroom.attackers import EXPECTED, HONEST, STEP, attacked, hasty, honest, lines_of
from pinlab.classroom.cell_source import lint_class
from pinlab.classroom.checks.all_schedules import explored
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.classroom.price import price
from pinlab.detect import alias_map
from pinlab.device import pick_device
from pinlab.schedules import Raised, Report

Answer = tuple[str, str | None, str]  # what to say, the belief, what to run
CLASS_PLEASE = "Give the class itself: the check makes its own objects."


# --- 08.1 names -------------------------------------------------------------------------------


def _grade_names(batch_cls: Any) -> Verdict:
    if not isinstance(batch_cls, type):
        return wrong(CLASS_PLEASE)
    if is_stub(getattr(batch_cls, "__init__", None)):
        return not_answered("The constructor makes nothing yet.")
    batch = attempt(batch_cls, 4)
    pinned = [
        name
        for name, thing in vars(batch).items()
        if isinstance(thing, torch.Tensor) and thing.is_pinned()
    ]
    if not pinned:
        return wrong(
            "No attribute is a pinned tensor any more. That removes the race and the reason for "
            "the buffer; keep pin_memory=True, and change the names.",
            "M6",
        )
    lens = attempt(lambda: batch.prompt_lens(2))
    if not isinstance(lens, torch.Tensor) or tuple(lens.shape) != (2,):
        return wrong("prompt_lens(2) must still return a tensor of the first 2 lengths.")
    shared = [name for name in pinned if _share(lens, getattr(batch, name))]
    if shared:
        return wrong(
            f"What prompt_lens returns is still a view of {shared[0]}. A private name does not "
            "make private bytes.",
            "M2",
            f"alias_map(lens=batch.prompt_lens(2), rows=batch.{shared[0]})",
        )
    try:
        found = lint_class(batch_cls)
    except OSError as error:
        return wrong(f"{error}; write the class in a cell or in a file.")
    if found:
        return wrong(
            f"The lint still says: {found[0].message} (line {found[0].line}, {found[0].rule}).",
            None,
            f"lint_class({batch_cls.__name__})",
        )
    return right(f"{', '.join(pinned)}: private, named for what it is, and never handed out.")


def _share(one: Any, other: Any) -> bool:
    return len(alias_map(one=one, other=other).groups) == 1


# --- 08.2 a snapshot type ---------------------------------------------------------------------


def _story(lens_cls: Any, pinned: bool, late: bool) -> list[int]:
    """Take a snapshot, rewrite the source before (late=False) or after the upload."""
    rows = torch.tensor(STEP, dtype=torch.int32, pin_memory=pinned)
    lens = lens_cls(rows[:3])
    if not late:
        rows[1] = 40
    arrived = lens.upload(pick_device())
    rows[2] = 1 if late else 8
    found: list[int] = arrived.tolist()
    return found


def _grade_snapshot(lens_cls: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if not isinstance(lens_cls, type):
        return wrong(CLASS_PLEASE)
    made = attempt(lens_cls, torch.tensor(STEP))
    held = [v for v in _values(made) if isinstance(v, torch.Tensor | np.ndarray)]
    if not held:
        return not_answered("The constructor keeps no tensor yet.")
    arrived = attempt(lambda: made.upload(pick_device()))
    there = isinstance(arrived, torch.Tensor) and arrived.device.type == pick_device().type
    if not there or arrived.tolist() != STEP:
        return wrong(f"upload() must return {STEP} as a tensor on the device, got {arrived!r}.")
    for late, belief, said in (
        (
            False,
            "M2",
            "The source was rewritten between the constructor and upload(), and it "
            "shows: the constructor kept a view, and a copy in upload() is too late.",
        ),
        (True, "M4", "The source was rewritten after upload(), and it shows."),
    ):
        program = partial(_story, lens_cls, True, late)
        report = explored(program, STEP, _story, *lines_of(lens_cls))
        if not report.correct:
            return wrong(f"{said} {_told(report)}.", belief, "alias_map(lens=lens, rows=rows)")
    rows = torch.tensor(STEP)
    kept = _values(attempt(lens_cls, rows))
    if any(_share(rows, v) for v in kept if isinstance(v, torch.Tensor | np.ndarray)):
        return wrong("The rows are copied, and yet the object also keeps a view of them.", "M2")
    return right("Whoever holds one holds bytes of one moment. Proved over all schedules.")


def _values(thing: Any) -> list[Any]:
    slots = [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    return [*getattr(thing, "__dict__", {}).values(), *slots]


# --- 08.3 a buffer under attack ---------------------------------------------------------------


def _grade_buffer(buffer_cls: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if not callable(buffer_cls):
        return wrong(CLASS_PLEASE)
    if isinstance(buffer_cls, type) and is_stub(getattr(buffer_cls, "upload", None)):
        return not_answered("upload() does nothing yet.")
    got = attempt(honest, buffer_cls)
    if got != HONEST:
        return wrong(
            f"Not an attack: honest use alone gives {got}, should be {HONEST} (two uploads, and "
            "the rows at the end). A buffer that refuses everybody is safe and useless.",
            None,
            "honest(MyBuffer), with honest from pinlab.classroom.attackers",
        )
    for attacker in EXPECTED:
        report = attacked(buffer_cls, attacker)
        if not report.complete:
            return wrong(
                f"{attacker.__name__}: more schedules than can be proved here. Let "
                "synchronize() wait, not a loop around query()."
            )
        if not report.correct:
            return _broken(buffer_cls, attacker, report)
    with sim.platform(sim.Platform(stage_pageable_uploads=False)):
        report = attacked(buffer_cls, hasty)
    if not report.correct:
        return wrong(
            f"It holds on CUDA's rules. Where pageable uploads are not staged, {_told(report)}: "
            "the upload reads memory that your block writes.",
            "M13",
            "attacked(MyBuffer, hasty) under sim.platform(…stage_pageable_uploads=False)",
        )
    cost = price(buffer_cls)
    waits = f"{cost.waits} wait{'s' * (cost.waits != 1)}"
    blocking = price(buffer_cls, steps=1).waits > 0
    return right(
        f"All three attackers are held in every schedule. Four honest steps cost {waits} and "
        f"{cost.copied} bytes that torch copied on the host."
        + " It waits for its own upload, so the host never runs ahead."
        * blocking
    )


def _broken(buffer_cls: Any, attacker: Callable[..., Any], report: Report) -> Verdict:
    name = attacker.__name__
    text, belief = {
        "hasty": _why_hasty(buffer_cls),
        "hoarder": (
            "It wrote through something that it had been given, and that was the pinned memory "
            "itself, or a view of it. A flag does not bind torch, and a view cannot be taken back.",
            "M2",
        ),
        "twice": (
            "Two uploads were under way on two streams, and the block waited for one of them.",
            "M11",
        ),
    }[name]
    made = getattr(buffer_cls, "__name__", "make")
    see = (
        f'again({made}, {name}, "{report.counterexample}"), with both from '
        "pinlab.classroom.attackers"
    )
    return wrong(
        f"{name} breaks it: {_told(report)}, meant was {EXPECTED[attacker]}. {text}", belief, see
    )


def _why_hasty(buffer_cls: Any) -> tuple[str, str]:
    """From what the buffer did, not from how it is written."""
    buffer = buffer_cls(3)
    with sim.mode("eager"), sim.record() as run:
        with buffer.writing() as rows:
            rows[:] = STEP
        buffer.upload()
        queued, before = len(run.operations), len(run.host)
        with buffer.writing() as rows:
            rows[1] = 40
        waited = any(event.kind == "wait" for event in run.host[before:])
    if waited:
        return "Something waits, but not for this upload, or after the row was written.", "M11"
    if queued > 1:
        return (
            "The upload is followed by more work on the device; a clone of what arrived repeats "
            "what was read.",
            "M10",
        )
    if run.marks:
        return "An event is recorded, and nobody waits for it: half an event.", "M7"
    return "The call to upload() has returned, the copy has not run, and nothing waits.", "M3"


def _told(report: Report) -> str:
    failed = report.counterexample
    value = next(o for o, ways in report.outcomes.items() if failed in ways)
    raised = isinstance(value.value, Raised)
    return f"schedule “{failed}” {'raises' if raised else 'gives'} {value}"


CHECKS = (
    Check(
        "08.1",
        _grade_names,
        hints=(
            "Run lint_class on the class: each line of it names one thing to change.",
            "Two attributes get an underscore and a suffix: _pinned for the tensor, _np for its "
            "numpy face. And the method returns a snapshot.",
            "self._lens_pinned, self._lens_np, and return self._lens_pinned[:n].clone()",
        ),
    ),
    Check(
        "08.2",
        _grade_snapshot,
        hints=(
            "Which word of torch takes the bytes now?",
            "It belongs in the constructor, where nobody can forget it.",
            "self._rows = source.clone()",
        ),
    ),
    Check(
        "08.3",
        _grade_buffer,
        hints=(
            "Which memory does the device read late? Who has ever been given that memory?",
            "If pinned memory never leaves the object, there is nothing to misuse. Let the block "
            "write a draft, and copy the draft into the pinned rows when the block ends.",
            "Wait for every upload before that copy: keep a list of events, one for each upload. "
            "Or make a fresh pinned snapshot for each upload, and wait for nothing.",
        ),
    ),
)
