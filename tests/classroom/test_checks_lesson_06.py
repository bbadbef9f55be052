"""Lesson 06's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pinlab.classroom.checks.lesson_06 import CHECKS
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


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
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


@pytest.mark.parametrize("batch_cls", [EventWaitBatch, SynchronizeBatch])
def test_orderings_are_right(batch_cls: type[InputBatch]) -> None:
    assert check_order.judge(batch_cls).state == "right"


@pytest.mark.parametrize(
    ("batch_cls", "said"),
    [
        (KeepAliveBatch, "not for the upload"),
        (EventTooEarlyBatch, "Leave get_pooling_metadata"),
        (GuardTooLateBatch, "Leave get_pooling_metadata"),
        (InputBatch, "Keep the view"),
    ],
)
def test_what_does_not_order_is_told_why(batch_cls: type, said: str) -> None:
    verdict = check_order.judge(batch_cls)
    assert (verdict.state, said in verdict.text) == ("wrong", True), verdict.text


def test_an_event_recorded_and_never_waited_for_is_wrong() -> None:
    class Records(AliasingBatch):
        def end_step(self, metadata: object) -> None:
            torch.get_device_module(self.device).Event().record()

    assert check_order.judge(Records).belief == "M11"


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
