"""Lesson 06's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pinlab.classroom.checks.lesson_05 import RIGHT
from pinlab.classroom.checks.lesson_06 import CHECKS, in_order
from pinlab.schedules import replay
from pinlab.serving import InputBatch, PoolingMetadata
from pinlab.serving.variants import (
    AliasingBatch,
    AsTensorBatch,
    CloneDestinationBatch,
    ContiguousBatch,
    CopyBatch,
    EventTooEarlyBatch,
    EventWaitBatch,
    GuardTooLateBatch,
    KeepAliveBatch,
    NotPinnedBatch,
    SynchronizeBatch,
)

check_copy, check_clone, check_order = CHECKS


@pytest.mark.parametrize("batch_cls", [CopyBatch, InputBatch])
def test_snapshots_are_right(batch_cls: type[InputBatch]) -> None:
    assert check_copy.judge(batch_cls).state == "right"
    assert check_clone.judge(batch_cls).state == "right"


class NoReturnBatch(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:  # type: ignore[return]
        PoolingMetadata(self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone(), self.req_ids)


class UploadsAtOnceBatch(InputBatch):
    def get_pooling_metadata(self) -> PoolingMetadata:
        rows = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]
        return PoolingMetadata(rows.to(self.device).clone(), self.req_ids)


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
        (NoReturnBatch, "returns NoneType"),
        (UploadsAtOnceBatch, "now uploads, and waits for it"),
        (AliasingBatch, "Still another name"),
        (ContiguousBatch, "Still another name"),
        (AsTensorBatch, "Still another name"),
        (CloneDestinationBatch, "Still another name"),
        (NotPinnedBatch, "take a snapshot"),
        (list, "subclass of InputBatch"),
    ],
)
def test_what_is_no_snapshot_is_told_why(batch_cls: type, said: str) -> None:
    verdict = check_copy.judge(batch_cls)
    assert (verdict.state, said in verdict.text) == ("wrong", True), verdict.text


class StreamSynchronizeBatch(AliasingBatch):
    def begin_update(self) -> None:
        torch.get_device_module(self.device).current_stream().synchronize()


class WaitsAtOnceBatch(AliasingBatch):
    def end_step(self, metadata: PoolingMetadata) -> None:
        torch.get_device_module(self.device).synchronize()


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
        (EventWaitBatch, "once a step, for the work up to the event"),
        (SynchronizeBatch, "also for work behind the upload"),
        (StreamSynchronizeBatch, "also for work behind the upload"),
        (WaitsAtOnceBatch, "never runs ahead of the device"),
    ],
)
def test_an_ordering_is_right_and_is_told_its_price(batch_cls: Any, said: str) -> None:
    verdict = check_order.judge(batch_cls)
    assert (verdict.state, said in verdict.text) == ("right", True), verdict.text


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
        (KeepAliveBatch, "Nothing waits for the upload"),
        (EventTooEarlyBatch, "Leave get_pooling_metadata"),
        (GuardTooLateBatch, "Leave get_pooling_metadata"),
        (InputBatch, "Keep the view"),
    ],
)
def test_what_does_not_order_is_told_why(batch_cls: type, said: str) -> None:
    verdict = check_order.judge(batch_cls)
    assert (verdict.state, said in verdict.text) == ("wrong", True), verdict.text


class Records(AliasingBatch):
    def end_step(self, metadata: PoolingMetadata) -> None:
        torch.get_device_module(self.device).Event().record()


class StreamWaits(AliasingBatch):
    def end_step(self, metadata: PoolingMetadata) -> None:
        self.done = torch.get_device_module(self.device).Event()
        self.done.record()

    def begin_update(self) -> None:
        self.done.wait()


class NeverRecords(AliasingBatch):
    def begin_update(self) -> None:
        torch.get_device_module(self.device).Event().synchronize()


class RecordsInTheConstructor(AliasingBatch):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.done = torch.get_device_module(self.device).Event()
        self.done.record()

    def begin_update(self) -> None:
        self.done.synchronize()


class RecordsElsewhere(AliasingBatch):
    def end_step(self, metadata: PoolingMetadata) -> None:
        gpu = torch.get_device_module(self.device)
        self.done = gpu.Event()
        self.done.record(gpu.Stream())

    def begin_update(self) -> None:
        self.done.synchronize()


@pytest.mark.parametrize(
    ("batch_cls", "belief", "said"),
    [
        (Records, "M7", "the host never waits for it: half an event"),
        (StreamWaits, "M7", "makes a *stream* wait"),
        (NeverRecords, "M3", "An event that nobody recorded"),
        (RecordsInTheConstructor, "M11", "no event stands behind it"),
        (RecordsElsewhere, "M11", "not for the upload of this step"),
        (KeepAliveBatch, "M3", "Nothing waits for the upload"),
    ],
)
def test_half_an_ordering_is_told_which_half_is_missing(
    batch_cls: Any, belief: str, said: str
) -> None:
    verdict = check_order.judge(batch_cls)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


class NoSuperBatch(AliasingBatch):
    def __init__(self, *args: Any, **options: Any) -> None:
        self.done = torch.get_device_module("sim").Event()

    def end_step(self, metadata: PoolingMetadata) -> None:
        self.done.record()


def test_a_constructor_that_makes_no_rows_is_told_so() -> None:
    verdict = check_order.judge(NoSuperBatch)
    assert verdict.state == "wrong"
    assert "super().__init__" in verdict.text


def test_an_ordering_that_fails_is_told_how_to_replay_it() -> None:
    verdict = check_order.judge(StreamWaits)
    token = verdict.see.split('"')[1]
    assert verdict.see.startswith(f'replay(in_order(StreamWaits), "{token}")')
    assert replay(in_order(StreamWaits), token) != RIGHT


def test_two_empty_methods_are_a_stub() -> None:
    assert check_order.judge(AliasingBatch).state == "open"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_unfilled_stub_is_not_answered(check: object) -> None:
    assert check.judge(...).state == "open"  # type: ignore[attr-defined]


class ConstantBatch(AliasingBatch):
    """Three lengths that were right once."""

    def get_pooling_metadata(self) -> PoolingMetadata:
        lens = torch.tensor([2, 4, 8], dtype=torch.int32)
        return PoolingMetadata(prompt_lens=lens, req_ids=("a", "b", "c"))


def test_lengths_that_are_not_read_from_the_rows_are_refused() -> None:
    for check in (check_copy, check_clone):
        assert "read the rows" in check.judge(ConstantBatch).text


class PageableBatch(AliasingBatch):
    """Not pinned, and methods that only look busy."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "pin_memory": False})

    def end_step(self, metadata: Any) -> None:
        len(str(metadata))

    def begin_update(self) -> None:
        len(str(self))


def test_rows_that_are_not_pinned_any_more_are_no_ordering() -> None:
    assert "not pinned any more" in check_order.judge(PageableBatch).text


class AsksUntilYes(AliasingBatch):
    """Right, but every question is one more moment for the device."""

    def end_step(self, metadata: PoolingMetadata) -> None:
        self.done = torch.get_device_module(self.device).Event()
        self.done.record()

    def begin_update(self) -> None:
        while not self.done.query():
            pass


class EveryOtherTime(AliasingBatch):
    """Waits in every other batch only."""

    made = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        type(self).made += 1

    def begin_update(self) -> None:
        if self.made % 2:
            torch.get_device_module(self.device).synchronize()


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
        (AsksUntilYes, "let synchronize() wait instead"),
        (EveryOtherTime, "Run twice under one schedule, yours behaves differently"),
    ],
)
def test_what_cannot_be_decided_is_told_and_never_raised(batch_cls: Any, said: str) -> None:
    verdict = check_order.judge(batch_cls)
    assert (verdict.state, said in verdict.text) == ("wrong", True), verdict.text
