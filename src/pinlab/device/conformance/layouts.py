"""Copies that are not one dense run of one dtype.

Source: ``copy_requires_temporaries`` and ``copy_kernel_cuda`` in
``aten/src/ATen/native/cuda/Copy.cu``. A copy whose two sides coalesce to one contiguous run goes
directly, and so does a single item. Otherwise both sides are made contiguous where they live; a
`non_blocking` copy converts on the device, a blocking one on the host. So what crosses the link is

- up, `non_blocking`: the raw source; itself, read late, if it is contiguous; else a packed copy
- down, into anything but a contiguous tensor: a temporary in pageable memory, hence complete
"""

from __future__ import annotations

import torch

from pinlab.device.conformance.check import RELEASE, check, expect, expect_values, pinned, zeros
from pinlab.device.hold import hold


def _square() -> torch.Tensor:
    """0 to 8 in three pinned rows."""
    return torch.arange(9, pin_memory=True).view(3, 3)


@check
def strided_pinned_source_is_a_snapshot(device: torch.device) -> None:
    """A column of a pinned matrix is packed on the host, at the call."""
    matrix, there = _square(), zeros(device, 3)
    with hold(release_after=RELEASE):
        there.copy_(matrix[:, 1], non_blocking=True)
        matrix.fill_(-1)
    expect_values(there, [1, 4, 7], "on the device")


@check
def broadcast_pinned_source_is_a_snapshot(device: torch.device) -> None:
    """A pinned row that is broadcast is packed on the host, at the call."""
    row, there = pinned(5, 7, 9), zeros(device, 2, 3)
    with hold(release_after=RELEASE):
        there.copy_(row, non_blocking=True)
        row.fill_(-1)
    expect_values(there, [[5, 7, 9]] * 2, "on the device")


@check
def converting_upload_reads_late(device: torch.device) -> None:
    """int64 → float32, non_blocking: the raw source is read late, the device converts."""
    row, there = pinned(5, 7, 9), zeros(device, 3, dtype=torch.float32)
    with hold(warmup=lambda: there.copy_(row, non_blocking=True)) as gate:
        there.copy_(row, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        row[1] = 40
    expect_values(there, [5.0, 40.0, 9.0], "on the device")


@check
def converting_upload_waits_if_blocking(device: torch.device) -> None:
    """int64 → float32, blocking: returns when done."""
    row, there = pinned(5, 7, 9), zeros(device, 3, dtype=torch.float32)
    with hold(release_after=RELEASE) as gate:
        there.copy_(row)
        expect(gate.released, "the call returned while the stream was held")
        row.fill_(-1)
    expect_values(there, [5.0, 7.0, 9.0], "on the device")


@check
def pinned_source_of_a_strided_target_is_read_late(device: torch.device) -> None:
    """A contiguous pinned row into a column of the device: read late, spread on the device."""
    row, matrix = pinned(5, 7, 9), zeros(device, 3, 3)
    column = matrix[:, 1]
    with hold(warmup=lambda: column.copy_(row, non_blocking=True)) as gate:
        column.copy_(row, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        row[1] = 40
    expect_values(matrix, [[0, 5, 0], [0, 40, 0], [0, 9, 0]], "on the device")


@check
def transposed_on_both_sides_is_direct(device: torch.device) -> None:
    """Both sides transposed: one run of bytes all the same, so read late."""
    matrix, there = _square(), zeros(device, 3, 3)
    with hold() as gate:
        there.t().copy_(matrix.t(), non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        matrix[0, 1] = 40
    expect_values(there, [[0, 40, 2], [3, 4, 5], [6, 7, 8]], "on the device")


@check
def transposed_on_one_side_is_a_snapshot(device: torch.device) -> None:
    """Only the pinned side transposed: packed on the host, at the call."""
    matrix, there = _square(), zeros(device, 3, 3)
    with hold(release_after=RELEASE):
        there.copy_(matrix.t(), non_blocking=True)
        matrix.fill_(-1)
    expect_values(there, [[0, 3, 6], [1, 4, 7], [2, 5, 8]], "on the device")


@check
def one_item_is_direct_whatever_its_stride(device: torch.device) -> None:
    """A single item of a strided pinned view is read late."""
    matrix, there = _square(), zeros(device, 1)
    with hold() as gate:
        there.copy_(matrix[1:2, 1], non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        matrix[1, 1] = 40
    expect_values(there, [40], "on the device")


@check
def an_empty_copy_does_nothing(device: torch.device) -> None:
    """Copies of no items return at once, in both directions, blocking or not."""
    row, there = pinned(5, 7, 9), zeros(device, 3)
    with hold() as gate:
        for non_blocking in (False, True):
            there[:0].copy_(row[:0], non_blocking=non_blocking)
            row[:0].copy_(there[:0], non_blocking=non_blocking)
        expect(not gate.released, "a copy of nothing waited for the stream")
    expect_values(row, [5, 7, 9], "on the host")


@check
def strided_pinned_target_is_complete(device: torch.device) -> None:
    """Into a column of a pinned matrix, non_blocking: complete on return."""
    matrix, there = _square(), zeros(device, 3).fill_(8)
    with hold(release_after=RELEASE) as gate:
        matrix[:, 1].copy_(there, non_blocking=True)
        expect(gate.released, "the call returned while the stream was held")
        expect_values(matrix, [[0, 8, 2], [3, 8, 5], [6, 8, 8]], "on the host")


@check
def converting_download_fills_late(device: torch.device) -> None:
    """float32 → pinned int64, non_blocking: the device converts, the host is filled late."""
    host, there = pinned(1, 1, 1), zeros(device, 3, dtype=torch.float32).fill_(8)
    with hold(warmup=lambda: host.copy_(there, non_blocking=True)) as gate:
        host.fill_(1)
        host.copy_(there, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        expect_values(host, [1, 1, 1], "on the host, too early")
    torch.get_device_module(device).synchronize()
    expect_values(host, [8, 8, 8], "on the host")


@check
def converting_download_waits_if_blocking(device: torch.device) -> None:
    """float32 → pinned int64, blocking: returns when done."""
    host, there = pinned(1, 1, 1), zeros(device, 3, dtype=torch.float32).fill_(8)
    with hold(release_after=RELEASE) as gate:
        host.copy_(there)
        expect(gate.released, "the call returned while the stream was held")
        expect_values(host, [8, 8, 8], "on the host")


@check
def strided_device_source_fills_late(device: torch.device) -> None:
    """A column of the device into contiguous pinned memory: packed there, filled late."""
    host, matrix = pinned(1, 1, 1), zeros(device, 3, 3)
    matrix.copy_(_square())
    with hold(warmup=lambda: host.copy_(matrix[:, 1], non_blocking=True)) as gate:
        host.fill_(1)
        host.copy_(matrix[:, 1], non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        expect_values(host, [1, 1, 1], "on the host, too early")
    torch.get_device_module(device).synchronize()
    expect_values(host, [1, 4, 7], "on the host")
