"""Lesson 06's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

import pytest
import torch

from pinlab.classroom.checks.lesson_06 import CHECKS
from pinlab.serving import InputBatch
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
