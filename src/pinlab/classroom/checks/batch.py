"""Check 02.3: a batch whose lengths neither move with it nor are pinned, in every schedule.

CUDA's schedules cannot be chosen; there it is enough that the host sees no alias.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong
from pinlab.device import pick_device
from pinlab.schedules import NondeterministicProgramError, Report, explore

LENS = (3, 5, 2, 8)
N = 3
INIT = "Leave __init__ alone, or call super().__init__ in yours."
NO_SNAPSHOT = "pin_memory() of pinned memory and .to() of the same type copy nothing."
SEE_ALIAS = "batch.prompt_lens(3).data_ptr() == batch.cpu_tensor.data_ptr()"


def grade_batch(batch_class: Any) -> Verdict:
    if not isinstance(batch_class, type):
        return wrong("The check takes the class itself: check_02_3(Repaired).")
    if is_stub(getattr(batch_class, "prompt_lens", None)):
        return not_answered("check_02_3.hint() gives a first hint.")
    batch = attempt(batch_class, 6)
    for name, kind in (("cpu_tensor", torch.Tensor), ("num_prompt_tokens", np.ndarray)):
        if not isinstance(getattr(batch, name, None), kind):
            return wrong(f"The batch has no {name} any more. {INIT}")
    batch.num_prompt_tokens[: len(LENS)] = LENS
    first = attempt(batch.prompt_lens, N)
    misfit = _misfit(first, batch)
    if misfit is not None:
        return misfit
    batch.num_prompt_tokens += 10
    if first.tolist() != list(LENS[:N]):
        return _aliased(batch_class)
    if first.is_pinned():
        return wrong(
            "It is a snapshot of the batch, and a pinned one: whoever writes *it* after queuing "
            "its upload has the same problem again. Ordinary memory is asked for here."
        )
    second = attempt(batch.prompt_lens, N - 1)
    if first.tolist() != list(LENS[:N]):
        return wrong(
            "The second call changed the result of the first: both look at one buffer of yours.",
            "M12",
            "one = batch.prompt_lens(3); batch.num_prompt_tokens[0] = 9; batch.prompt_lens(3); one",
        )
    if second.tolist()[: N - 1] != [length + 10 for length in LENS[: N - 1]]:
        return wrong("A second call does not see what was written to the batch in between.")
    if len(second) != N - 1:
        return wrong(f"prompt_lens({N - 1}) shows {second.tolist()}: it must show {N - 1} lengths.")
    return _proved(batch_class)


def upload_then_rewrite(batch_class: Any) -> Callable[[], list[int]]:
    """The program that check 02.3 explores: hand out, upload, prepare the next step."""
    device = pick_device()

    def program() -> list[int]:
        batch = batch_class(6)
        batch.num_prompt_tokens[: len(LENS)] = LENS
        lens = batch.prompt_lens(N).to(device, non_blocking=True)
        batch.num_prompt_tokens += 10
        arrived: list[int] = lens.tolist()
        return arrived

    return program


def _explored(batch_class: Any) -> Report:
    program = upload_then_rewrite(batch_class)
    return explore(program, expect=[*LENS[:N]], trace=[batch_class.prompt_lens])


def _proved(batch_class: Any) -> Verdict:
    if pick_device().type != "sim":
        return right("The batch may move on: what was handed out does not move with it.")
    try:
        report = _explored(batch_class)
    except NondeterministicProgramError as error:
        return wrong(f"Two batches of yours, treated alike, behave differently: {error}.")
    if not report.correct:
        return _broken_by(report)
    among = f" of {report.total}" if report.total else ""
    return right(
        f"The device gets {[*LENS[:N]]} in every schedule ({report.explored}{among} had to be run)."
    )


def _misfit(result: Any, batch: Any) -> Verdict | None:
    """What is wrong with a result before the batch moves on; None if nothing is."""
    if result is None or result is ...:
        return not_answered("prompt_lens returned nothing; is `return` missing?")
    if not isinstance(result, torch.Tensor):
        return wrong(f"prompt_lens must return a tensor; yours returns {type(result).__name__}.")
    if result.device.type != "cpu":
        return wrong("The pooling code uploads the lengths itself; hand out a tensor of the host.")
    if result.dtype != torch.int32 or result.tolist() != list(LENS[:N]):
        dtype = str(result.dtype).removeprefix("torch.")
        return wrong(f"The result is {result.tolist()} ({dtype}), should be {[*LENS[:N]]} (int32).")
    if not batch.cpu_tensor.is_pinned():
        return wrong(
            "The batch itself is not pinned any more: its other uploads now cost a host copy each. "
            "Change what it hands out."
        )
    if not np.shares_memory(batch.cpu_tensor.numpy(), batch.num_prompt_tokens):
        return wrong("num_prompt_tokens is no face of cpu_tensor any more. " + INIT)
    return None


def _aliased(batch_class: Any) -> Verdict:
    if pick_device().type == "sim":
        report = _explored(batch_class)
        if report.counterexample is not None:
            return _broken_by(report)
    return wrong("The result still moves with the batch. " + NO_SNAPSHOT, "M2", SEE_ALIAS)


def _broken_by(report: Report) -> Verdict:
    schedule = report.counterexample
    arrived = next(value for value, ways in report.outcomes.items() if schedule in ways)
    return wrong(
        f"The result still moves with the batch: under schedule “{schedule}” (the latest copy) "
        f"{arrived} arrives instead of {[*LENS[:N]]}. {NO_SNAPSHOT}",
        "M2",
        f'replay(upload_then_rewrite(Repaired), "{schedule}"), with replay from '
        "pinlab.schedules and upload_then_rewrite from pinlab.classroom.checks.batch",
    )
