"""Snapshots as a type: whatever the source was, nothing that happens later shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.detect import assert_no_alias
from pinlab.schedules import explore
from pinlab.serving import InputBatch, Snapshot, SnapshotMetadata
from pinlab.serving.scenarios import SCENARIOS, late_host_reader


class Batch(InputBatch):
    def get_pooling_metadata(self) -> SnapshotMetadata:
        lens = Snapshot(self.num_prompt_tokens_cpu_tensor[: self.num_reqs], pin_memory=True)
        return SnapshotMetadata(lens, self.req_ids)


@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.parametrize(
    "view",
    [
        lambda rows: rows,
        lambda rows: rows[:2],
        lambda rows: rows[::2],
        lambda rows: rows.numpy()[::-1],
        lambda rows: rows.contiguous(),
        lambda rows: rows.tolist(),
    ],
)
def test_later_writes_to_the_source_do_not_show(view: Any, pin_memory: bool) -> None:
    rows = torch.tensor([2, 4, 8], pin_memory=True)
    source = view(rows)
    expect = np.asarray(source).tolist()
    lens = Snapshot(source, pin_memory=pin_memory)
    rows.fill_(-1)
    assert lens.tolist() == expect
    assert len(lens) == len(expect)


def test_what_it_hands_out_is_a_copy() -> None:
    lens = Snapshot([2, 4, 8])
    lens.np[0] = 99
    lens.tensor()[1] = 99
    assert_no_alias(lens.np, lens.tensor())
    assert lens.tolist() == [2, 4, 8]


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("pin_memory", [False, True])
def test_its_upload_is_right_in_every_schedule_on_every_platform(
    staged: bool, pin_memory: bool
) -> None:
    def program() -> list[int]:
        rows = torch.tensor([2, 4, 8], pin_memory=True)
        arrived = Snapshot(rows[:2], pin_memory).upload("sim")
        rows.fill_(40)
        return arrived.tolist()

    with sim.platform(sim.Platform(stage_pageable_uploads=staged)):
        assert explore(program, expect=[2, 4]).correct


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_a_batch_with_such_metadata_is_right_in_every_schedule(scenario: Any) -> None:
    trace = [Batch.get_pooling_metadata]
    assert explore(scenario.program(Batch), expect=scenario.expect, trace=trace).correct


def test_a_late_host_reader_is_right_as_well() -> None:
    assert explore(late_host_reader(Batch), expect=[True, True, True]).correct


@pytest.mark.parametrize("given", [torch.tensor([2]), np.array([2]), [2], None])
def test_metadata_takes_nothing_but_a_snapshot(given: Any) -> None:
    with pytest.raises(TypeError, match="prompt_lens must be a Snapshot, got a"):
        SnapshotMetadata(given, ["a"])


def test_metadata_keeps_the_ids_of_its_step() -> None:
    req_ids = ["a"]
    metadata = SnapshotMetadata(Snapshot([2]), req_ids)
    req_ids.append("b")
    assert metadata.req_ids == ["a"]


def test_a_snapshot_is_of_numbers_on_the_host() -> None:
    with pytest.raises(TypeError, match="of host memory, got a tensor on sim:0"):
        Snapshot(torch.zeros(2, device="sim"))
    with pytest.raises(TypeError, match="of numbers, got"):
        Snapshot([object()])  # type: ignore[list-item]


def test_a_snapshot_does_not_change() -> None:
    with pytest.raises(AttributeError, match="take a new one to set '_rows'"):
        Snapshot([2])._rows = torch.zeros(1)


def test_repr_shows_values_and_pinning() -> None:
    assert repr(Snapshot([2, 4])) == "Snapshot([2, 4], int64)"
    assert repr(Snapshot([2, 4], pin_memory=True)) == "Snapshot([2, 4], int64, pinned)"
