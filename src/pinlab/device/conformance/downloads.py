"""Device to host, contiguous and of one dtype: the other rows of the copy table.

Sources: ``aten/src/ATen/native/cuda/Copy.cu``; ``aten/src/ATen/native/TensorConversions.cpp``
(``_to_copy`` asks for pinned memory when a CUDA tensor goes to the CPU with `non_blocking`); CUDA's
page "API synchronization behavior" (into pageable memory: complete on return in the pages of CUDA
11, "might be synchronous" in those of CUDA 12 and 13).
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from pinlab.device.conformance.check import RELEASE, check, expect, expect_values, pinned, zeros
from pinlab.device.hold import hold


@check
def pageable_download_waits(device: torch.device) -> None:
    """device → pageable, blocking: returns when done."""
    host, there = torch.zeros(3, dtype=torch.int64), zeros(device, 3).fill_(8)
    with hold(release_after=RELEASE) as gate:
        host.copy_(there)
        expect(gate.released, "the call returned while the stream was held")
        expect_values(host, [8, 8, 8], "on the host")


@check
def pageable_download_non_blocking_waits(device: torch.device) -> None:
    """device → pageable, non_blocking: returns when done as well."""
    host, there = torch.zeros(3, dtype=torch.int64), zeros(device, 3).fill_(8)
    with hold(release_after=RELEASE) as gate:
        host.copy_(there, non_blocking=True)
        expect(gate.released, "the call returned while the stream was held")
        expect_values(host, [8, 8, 8], "on the host")


@check
def pinned_download_waits(device: torch.device) -> None:
    """device → pinned, blocking: returns when done."""
    host, there = pinned(0, 0, 0), zeros(device, 3).fill_(8)
    with hold(release_after=RELEASE) as gate:
        host.copy_(there)
        expect(gate.released, "the call returned while the stream was held")
        expect_values(host, [8, 8, 8], "on the host")


@check
def pinned_download_non_blocking_fills_late(device: torch.device) -> None:
    """device → pinned, non_blocking: returns at once, is filled when the stream gets there."""
    host, there = pinned(1, 1, 1), zeros(device, 3).fill_(8)
    with hold() as gate:
        host.copy_(there, non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        expect_values(host, [1, 1, 1], "on the host, too early")
    torch.get_device_module(device).synchronize()
    expect_values(host, [8, 8, 8], "on the host")


@check
def to_cpu_waits(device: torch.device) -> None:
    """``there.cpu()`` and ``there.to("cpu")`` return when done, in pageable memory."""
    there = zeros(device, 3).fill_(8)
    asks: tuple[Callable[[], torch.Tensor], ...] = (there.cpu, lambda: there.to("cpu"))
    for ask in asks:
        with hold(release_after=RELEASE) as gate:
            host = ask()
            expect(gate.released, "the call returned while the stream was held")
            expect_values(host, [8, 8, 8], "on the host")
        expect(not host.is_pinned(), "the result is pinned")


@check
def to_cpu_non_blocking_is_pinned_and_filled_late(device: torch.device) -> None:
    """``there.to("cpu", non_blocking=True)`` is a new pinned tensor, filled later."""
    fresh, there = pinned(8, 8, 8), zeros(device, 3).fill_(2)
    with hold(warmup=lambda: there.to("cpu", non_blocking=True)) as gate:
        there.copy_(fresh, non_blocking=True)
        host = there.to("cpu", non_blocking=True)
        expect(not gate.released, "the call waited for the stream")
        expect(host.is_pinned(), "the result is not pinned")
        expect(host.tolist() != [8, 8, 8], "the result is there before the stream got there")
    torch.get_device_module(device).synchronize()
    expect_values(host, [8, 8, 8], "on the host")


@check
def reading_a_value_waits(device: torch.device) -> None:
    """``item()``, ``tolist()``, ``bool()`` and printing wait for the current stream."""
    there = zeros(device, 1)
    asks: tuple[Callable[[], object], ...]
    asks = (there.item, there.tolist, lambda: bool(there), lambda: repr(there))
    for number, ask in enumerate(asks, start=1):
        late = pinned(number)
        with hold(release_after=RELEASE) as gate:
            there.copy_(late, non_blocking=True)
            found = ask()
            expect(gate.released, f"{found!r} was there while the stream was held")
        expect(str(number) in str(found) or found is True, f"expected {number}, found {found}")
