"""Snapshots compared at completion, the way of a real GPU, tried on the simulated device."""

from __future__ import annotations

import torch

from pinlab import sim
from pinlab.detect.hazards import Kind, probable_hazards
from pinlab.device import pick_device

device = pick_device()
gpu = torch.get_device_module(device)


def test_a_changed_source_is_probable_and_named() -> None:
    row = torch.tensor([1, 2, 3], pin_memory=True)
    with sim.mode("lazy"), probable_hazards(gpu) as found:
        row.to(device, non_blocking=True)
        row[0] = 9
    (hazard,) = found
    assert (hazard.kind, hazard.buffer.name, hazard.certain) == (Kind.SOURCE_WRITTEN, "row", False)
    assert hazard.queued_at.source == "row.to(device, non_blocking=True)"
    assert str(hazard).startswith("probable: write to an upload's source: row")


def test_a_write_after_the_wait_is_clean() -> None:
    row = torch.tensor([1, 2, 3], pin_memory=True)
    with sim.mode("lazy"), probable_hazards(gpu) as found:
        row.to(device, non_blocking=True)
        gpu.synchronize()
        torch.zeros(1)  # any operator: what is over is compared
        row[0] = 9
    assert not found


def test_pageable_blocking_and_untouched_sources_are_clean() -> None:
    plain, pinned = torch.zeros(3), torch.zeros(3, pin_memory=True)
    with sim.mode("lazy"), probable_hazards(gpu) as found:
        plain.to(device, non_blocking=True)
        plain[0] = 1
        pinned.to(device)
        pinned[0] = 1
        pinned.to(device, non_blocking=True)
    assert not found
