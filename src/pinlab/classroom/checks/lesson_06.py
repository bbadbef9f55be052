"""Checks of lesson 06, the fixes: two snapshots, and an ordering, proved over all schedules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pinlab import sim
from pinlab.classroom.checks.all_schedules import explored, told
from pinlab.classroom.checks.attempt import attempt, is_stub
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.lesson_05 import LENGTHS, RIGHT, made, three_requests, two_steps
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.detect import alias_map
from pinlab.device import pick_device
from pinlab.schedules import Report
from pinlab.serving import CachedRequestState, InputBatch, MeanPool
from pinlab.serving.variants import AliasingBatch


def _grade_snapshot(batch_cls: Any) -> Verdict:
    opened = _opened(batch_cls)
    if opened is not None:
        return opened
    batch, metadata = made(batch_cls)
    lens: Any = metadata.prompt_lens  # a stub leaves dots
    if not isinstance(lens, torch.Tensor):
        return not_answered("prompt_lens is not a tensor yet.")
    if lens.tolist() != LENGTHS.tolist():
        return wrong(f"prompt_lens shows {lens.tolist()}, should be {LENGTHS.tolist()}.")
    if _lengths_of_four(batch_cls) != [*LENGTHS.tolist(), 3]:
        return wrong("With a fourth request of 3 tokens it shows other lengths: read the rows.")
    rows = batch.num_prompt_tokens_cpu_tensor
    shared = any(len(group) > 1 for group in alias_map(lens=lens, rows=rows).groups)
    report = explored(lambda: two_steps(batch_cls), RIGHT, batch_cls.get_pooling_metadata)
    if shared and not report.correct:
        return wrong(
            f"Still another name for the rows: {told(report)}. A slice copies nothing, nor does "
            ".contiguous() of leading rows or .pin_memory() of pinned ones; a copy beside it does "
            "not help, and a wait before it comes too early.",
            "M2",
            f'replay(lambda: two_steps({batch_cls.__name__}), "{report.counterexample}"), with '
            "replay from pinlab.schedules",
        )
    if shared:
        return wrong("Right for the device, but the view is still there; take a snapshot.", "M11")
    if not report.correct:
        return wrong(f"The metadata has memory of its own, and yet {told(report)}.", "M10")
    if lens.device.type != "cpu":
        return wrong(
            "Right in every schedule, but get_pooling_metadata now uploads, and waits for it: the "
            "host stops in each step. Hand out a snapshot on the host; the pooler uploads it."
        )
    kind = "pinned" if lens.is_pinned() else "pageable"
    return right(
        f"Proved: {report.explored} of {_total(report)} schedules can matter, and all are right. "
        f"The snapshot is {kind}."
    )


def _lengths_of_four(batch_cls: Any) -> Any:
    batch = three_requests(batch_cls)
    batch.add_request(CachedRequestState("d", [80] * 3))
    lens = attempt(batch.get_pooling_metadata).prompt_lens
    return lens.tolist() if isinstance(lens, torch.Tensor) else lens


def _grade_ordering(batch_cls: Any) -> Verdict:
    opened = _opened(batch_cls)
    if opened is not None:
        return opened
    if not issubclass(batch_cls, AliasingBatch):
        return wrong("Keep the view: subclass AliasingBatch, and order the write behind the read.")
    if batch_cls.get_pooling_metadata is not AliasingBatch.get_pooling_metadata:
        return wrong("Leave get_pooling_metadata as it is: this exercise is about waiting.")
    if is_stub(batch_cls.end_step) and is_stub(batch_cls.begin_update):
        return not_answered("Neither method does anything yet.")

    if not made(batch_cls)[0].num_prompt_tokens_cpu_tensor.is_pinned():
        return wrong("The rows are not pinned any more: keep them, and wait for the upload.", "M5")
    report = explored(in_order(batch_cls), RIGHT, batch_cls.begin_update, batch_cls.end_step)
    order = _Order.of(batch_cls)
    if report.correct:
        price = f"Proved over all schedules. {order.price()}"
        return right(f"{price} The view is still there: see the next section.")
    why, belief = order.missing()
    see = (
        f'replay(in_order({batch_cls.__name__}), "{report.counterexample}"), with replay from '
        "pinlab.schedules and in_order from pinlab.classroom.checks.lesson_06"
    )
    return wrong(f"{told(report)[0].upper()}{told(report)[1:]}. {why}", belief, see)


def in_order(batch_cls: type[InputBatch]) -> Callable[[], list[float]]:
    """The program that check 06.3 explores: a step, `end_step`, `begin_update`, the next step."""

    def program() -> list[float]:
        batch = batch_cls(max_num_reqs=4, device=pick_device(), max_model_len=8)
        for name, token, count in (("a", 10, 2), ("b", 20, 4), ("c", 40, 8)):
            batch.add_request(CachedRequestState(name, [token] * count))
        hidden = torch.tensor([10.0] * 2 + [20.0] * 4 + [40.0] * 8).unsqueeze(1)
        metadata = batch.get_pooling_metadata()
        metadata.build_pooling_cursor(LENGTHS, LENGTHS, batch.device)
        means = MeanPool()(hidden.to(batch.device), metadata)
        attempt(batch.end_step, metadata)
        attempt(batch.begin_update)
        batch.remove_request("b")
        batch.condense()
        batch.add_request(CachedRequestState("d", [80]))
        found: list[float] = means.flatten().tolist()
        return found

    return program


@dataclass(frozen=True)
class _Order:
    """What the two methods did in one run in which the device is late.

    Attributes:
        records: whether an event was recorded.
        streams: whether a stream was made to wait.
        at_once, later: how often the host waited in end_step, and in begin_update.
        behind: whether it waited for work that was queued after end_step as well.
    """

    records: bool
    streams: bool
    at_once: int
    later: int
    behind: bool

    @classmethod
    def of(cls, batch_cls: type[InputBatch]) -> _Order:
        batch = three_requests(batch_cls)
        with sim.mode("lazy"):
            there = torch.zeros(1, device=batch.device)
            metadata = batch.get_pooling_metadata()
            lens = metadata.upload_prompt_lens(batch.device)
            with sim.record() as run:
                attempt(batch.end_step, metadata)
                at_once = _waits(run)
                there.add_(lens[0])
                behind = run.operations[-1]
                attempt(batch.begin_update)
                over = behind.done
        marks = {mark.kind for mark in run.marks}
        return cls("record" in marks, "wait" in marks, at_once, _waits(run) - at_once, over)

    def price(self) -> str:
        """What the host pays, in a sentence."""
        if self.at_once:
            return (
                "But the host waits in end_step, right after it has queued the work, so it never "
                "runs ahead of the device: wait in begin_update."
            )
        if self.behind:
            return (
                "But begin_update waits for all that is queued, also for work behind the upload. "
                "An event recorded in end_step waits for less."
            )
        return "The host waits once a step, for the work up to the event and no more."

    def missing(self) -> tuple[str, str]:
        """What is not ordered, and the belief behind it."""
        if self.streams:
            return "event.wait() makes a *stream* wait. The host goes straight on.", "M7"
        if self.records and not self.at_once + self.later:
            return (
                "An event is recorded, and the host never waits for it: half an event. (A wait for "
                "an event that is recorded only later returns at once.)"
            ), "M7"
        if self.at_once + self.later and not self.records:
            said = (
                "Something waits, but not for the upload of this step: no event stands behind it."
            )
            return said, "M11"
        if self.at_once + self.later:
            return "Something waits, but not for the upload of this step.", "M11"
        return (
            "Nothing waits for the upload. An event that nobody recorded is reached at once, and "
            "memory that is kept does not keep what is in it."
        ), "M3"


def _waits(run: sim.Recording) -> int:
    return sum(event.kind in ("wait", "query") for event in run.host)


def _opened(batch_cls: Any) -> Verdict | None:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    if not (isinstance(batch_cls, type) and issubclass(batch_cls, InputBatch)):
        return wrong("Give the class itself, a subclass of InputBatch.")
    return None


def _total(report: Report) -> str:
    return "an unknown number of" if report.total is None else f"{report.total:,}"


CHECKS = (
    Check(
        "06.1",
        _grade_snapshot,
        hints=(
            "The view is made in one expression. Which word of numpy copies an array?",
            "Copy the slice before from_numpy sees it.",
            "torch.from_numpy(self.num_prompt_tokens[: self.num_reqs].copy())",
        ),
    ),
    Check(
        "06.2",
        _grade_snapshot,
        hints=(
            "Which name of the rows is a tensor already, and which word of torch copies a tensor?",
            "Slice the tensor, then clone the slice.",
            "self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone()",
        ),
    ),
    Check(
        "06.3",
        _grade_ordering,
        hints=(
            "end_step is called when the upload has been queued, begin_update before rows change.",
            "Record an event in the one, wait for it in the other.",
            "self.done.record() in end_step, self.done.synchronize() in begin_update",
        ),
    ),
)
