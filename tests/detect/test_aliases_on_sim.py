"""The alias map of memory that the simulated device uses: pinned, pending, on the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.detect import alias_map
from pinlab.figures import memory_map


@pytest.fixture(autouse=True)
def lazy() -> Iterator[None]:
    """Nothing runs until somebody waits, so that pending work stays pending."""
    sim.install()
    with sim.mode("lazy"):
        yield
        torch.get_device_module("sim").synchronize()


def test_a_pinned_buffer_and_its_faces_are_one_pinned_storage_with_an_owner() -> None:
    rows = torch.zeros(6, dtype=torch.int32, pin_memory=True)
    seen = alias_map(rows=rows, face=rows.numpy(), lens=rows[:3], own=rows[:3].clone())
    assert seen.groups == (("rows", "face", "lens"), ("own",))
    assert [(s.owner, s.pinned) for s in seen.storages] == [("rows", True), ("own", False)]
    assert seen.storages[0].nbytes == 24


def test_an_upload_reads_late_from_pinned_memory_until_it_has_run() -> None:
    rows = torch.arange(6, dtype=torch.int32).pin_memory()
    rows[:3].to("sim", non_blocking=True)
    (use,) = alias_map(rows=rows, rest=rows[3:]).pending
    assert (use.verb, use.runs, use.names) == ("reads", ((0, 12),), ("rows",))
    assert use.queued_at.startswith("test_aliases_on_sim.py:")
    assert memory_map(rows=rows).alt.endswith("1 queued operation still to use them.")
    torch.get_device_module("sim").synchronize()
    assert alias_map(rows=rows).pending == ()


def test_a_pageable_source_has_no_reader_after_the_call() -> None:
    rows = torch.arange(6, dtype=torch.int32)
    rows.to("sim", non_blocking=True)
    assert alias_map(rows=rows).pending == ()


def test_a_download_into_pinned_memory_is_a_pending_write_and_its_values_are_not_read() -> None:
    out = torch.zeros(3, pin_memory=True)
    out.copy_(torch.ones(3, device="sim"), non_blocking=True)
    seen = alias_map(out=out)
    assert [use.verb for use in seen.pending] == ["writes"]
    assert seen.find("out")[1].values == ()
    torch.get_device_module("sim").synchronize()
    assert alias_map(out=out).find("out")[1].values == ("1", "1", "1")


def test_device_tensors_are_grouped_by_device_memory_and_nothing_is_waited_for() -> None:
    source = torch.arange(6, dtype=torch.int32).pin_memory()
    d = source.to("sim", non_blocking=True)
    seen = alias_map(source=source, d=d, tail=d[2:], flipped=d.view(2, 3).t(), other=d + 1)
    assert len(sim.pending()) == 2
    assert seen.groups == (("source",), ("d", "tail", "flipped"), ("other",))
    storage, tail = seen.find("tail")
    assert (storage.space, storage.owner, storage.nbytes) == ("sim:0", "d", 24)
    assert tail.runs == ((8, 24),)
    assert seen.relation("d", "flipped") == "24 bytes shared: [0:24]"
    assert not seen.shares("source", "d")


def test_two_far_views_of_one_device_tensor_meet_without_it() -> None:
    d = torch.zeros(6, dtype=torch.int32, device="sim")
    seen = alias_map(head=d[:2], tail=d[4:])
    assert seen.groups == (("head", "tail"),)
    assert seen.storages[0].owner is None


def test_a_numpy_face_of_pinned_rows_is_pinned_without_its_tensor() -> None:
    rows = torch.zeros(4, pin_memory=True)
    assert alias_map(face=rows.numpy()).storages[0].pinned
    assert alias_map(raw=memoryview(rows.numpy())).storages[0].pinned
    assert not alias_map(plain=np.zeros(4)).storages[0].pinned
