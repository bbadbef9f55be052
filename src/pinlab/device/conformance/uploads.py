"""Host to device, contiguous and of one dtype: the first two rows of the copy table.

Sources: ``aten/src/ATen/native/cuda/Copy.cu`` (``cudaMemcpyAsync`` if `non_blocking`, else
``memcpy_and_sync``); CUDA's page "API synchronization behavior" (an asynchronous copy from pageable
memory may first wait for the stream, and returns when the bytes are staged).
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab.device.conformance.check import RELEASE, check, expect, expect_values, pinned, zeros
from pinlab.device.hold import hold

LARGE = 1 << 18  # items of 8 bytes: more than CUDA carries along with the command itself


@check
def pageable_upload_waits(device: torch.device) -> None:
    """pageable → device, blocking: returns when done."""
    row, there = torch.tensor([5, 7, 9]), zeros(device, 3)
    with hold(release_after=RELEASE) as gate:
        there.copy_(row)
        expect(gate.released, "the call returned while the stream was held")
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")


@check
def pageable_upload_non_blocking_is_staged(device: torch.device) -> dict[str, Any]:
    """pageable → device, non_blocking: the bytes are taken before the call returns."""
    row, there = torch.tensor([5, 7, 9]), zeros(device, 3)
    with hold(release_after=RELEASE) as gate:
        there.copy_(row, non_blocking=True)
        early = not gate.released
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")
    return {"returned before the release": early}


@check
def large_pageable_upload_non_blocking_is_staged(device: torch.device) -> dict[str, Any]:
    """pageable → device, non_blocking, 2 MiB: the bytes are taken before the call returns."""
    row, there = torch.arange(LARGE), zeros(device, LARGE)
    with hold(release_after=RELEASE) as gate:
        there.copy_(row, non_blocking=True)
        early = not gate.released
        row.fill_(0)
    same = bool(torch.equal(there.cpu(), torch.arange(LARGE)))
    expect(same, "the device holds bytes that the host wrote after the call")
    return {"returned before the release": early}


@check
def pinned_upload_waits(device: torch.device) -> None:
    """pinned → device, blocking: returns when done."""
    row, there = pinned(5, 7, 9), zeros(device, 3)
    with hold(release_after=RELEASE) as gate:
        there.copy_(row)
        expect(gate.released, "the call returned while the stream was held")
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")


@check
def pinned_upload_non_blocking_reads_late(device: torch.device) -> None:
    """pinned → device, non_blocking: returns at once, reads when the stream gets there."""
    row, there = pinned(5, 7, 9), zeros(device, 3)
    with hold() as gate:
        there.copy_(row, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        row[1] = 40
    expect_values(there, [5, 40, 9], "on the device")


@check
def to_device_non_blocking_reads_late(device: torch.device) -> None:
    """``row.to(device, non_blocking=True)`` from pinned memory reads late too."""
    row = pinned(5, 7, 9)
    with hold(warmup=lambda: row.to(device, non_blocking=True)):
        there = row.to(device, non_blocking=True)
        row[1] = 40
    expect_values(there, [5, 40, 9], "on the device")


@check
def large_pinned_upload_non_blocking_reads_late(device: torch.device) -> None:
    """pinned → device, non_blocking, 2 MiB: reads when the stream gets there."""
    row, there = torch.zeros(LARGE, dtype=torch.int64, pin_memory=True), zeros(device, LARGE)
    with hold() as gate:
        there.copy_(row, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        row.fill_(1)
    expect(there.sum().item() == LARGE, "the device holds bytes from before the release")


@check
def a_clone_of_pinned_memory_is_staged(device: torch.device) -> None:
    """``row.clone().to(device, non_blocking=True)`` is a snapshot: a clone is pageable."""
    row, there = pinned(5, 7, 9), zeros(device, 3)
    with hold(release_after=RELEASE):
        there.copy_(row.clone(), non_blocking=True)
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")


@check
def a_pinned_clone_is_a_snapshot(device: torch.device) -> None:
    """``row.clone().pin_memory()`` is a snapshot, and its upload returns at once."""
    row, there = pinned(5, 7, 9), zeros(device, 3)
    with hold(warmup=lambda: row.clone().pin_memory()) as gate:
        there.copy_(row.clone().pin_memory(), non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")
