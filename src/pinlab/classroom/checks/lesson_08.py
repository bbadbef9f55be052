"""Checks of lesson 08, designing it out: names, a buffer under attack.

The snapshot type, exercise 2, is graded in ``snapshot.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab import sim
from pinlab.classroom.attackers import EXPECTED, HONEST, STEP, attacked, hasty, honest
from pinlab.classroom.cell_source import lint_class
from pinlab.classroom.checks.all_schedules import alike_twice, told
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.snapshot import CLASS_PLEASE, grade_snapshot, share
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.classroom.price import price
from pinlab.device import pick_device
from pinlab.schedules import Report

Answer = tuple[str, str | None, str]  # what to say, the belief, what to run
FOUR = [3, 5, 2, 9]  # lengths in the rows of exercise 1


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
    for name in pinned:
        getattr(batch, name).copy_(torch.tensor(FOUR))
    if not hasattr(batch, "prompt_lens"):
        return wrong(
            "A batch of yours has no attribute 'prompt_lens'. The method may stay public: what it "
            "returns must not be the pinned memory."
        )
    lens = attempt(batch.prompt_lens, 2)
    if not isinstance(lens, torch.Tensor) or tuple(lens.shape) != (2,):
        return wrong(
            "prompt_lens(2) must still return a tensor of the first 2 lengths; yours returns "
            f"{lens!r}, of type {type(lens).__name__}."
        )
    for n in (2, 3):
        shown = attempt(batch.prompt_lens, n)
        if not isinstance(shown, torch.Tensor) or shown.tolist() != FOUR[:n]:
            return wrong(
                f"With {FOUR} in the rows prompt_lens({n}) returns {shown!r}, should show "
                f"{FOUR[:n]}. It must read the rows, and the first n of them."
            )
    shared = [name for name in pinned if share(lens, getattr(batch, name))]
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
        with alike_twice():
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
            f"It holds on CUDA's rules. Where pageable uploads are not staged, {told(report)}: "
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
        f"{name} breaks it: {told(report)}, meant was {EXPECTED[attacker]}. {text}", belief, see
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
        grade_snapshot,
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
