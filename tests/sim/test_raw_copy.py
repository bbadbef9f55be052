"""Copies between addresses: unheard of by the allocators, in the copy table's order, bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.sim import IllegalAddressError, Platform

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
FILL = -842150451


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, pin_memory=True)


def device(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32).to("sim")


@pytest.mark.parametrize("mode", ["eager", "lazy", "random", "threaded"])
def test_all_three_directions_by_tensor_and_by_address(mode: str) -> None:
    there, other, back = device(0, 0), device(0, 0), pinned(0, 0)
    with sim.mode(mode):
        row = pinned(5, 7)
        sim.memcpy_async(there, row)
        sim.memcpy_async(other.data_ptr(), there.data_ptr(), 8)
        sim.memcpy_async(back.data_ptr(), other)
        gpu.synchronize()
        assert back.tolist() == [5, 7]


def test_pinned_bytes_are_used_when_the_stream_gets_there() -> None:
    there, row, landing = device(0, 0), pinned(5, 7), pinned(0, 0)
    with sim.mode("lazy"):
        sim.memcpy_async(there, row)
        sim.memcpy_async(landing, there)
        assert [operation.kind for operation in sim.pending()] == ["upload", "download"]
        assert [operation.name for operation in sim.pending()] == ["raw upload", "raw download"]
        assert [operation.nbytes for operation in sim.pending()] == [8, 8]
        row[1] = 40
        assert landing.tolist() == [0, 0]
        gpu.synchronize()
        assert landing.tolist() == [5, 40]


def test_the_host_allocator_hears_nothing() -> None:
    there = device(0)
    with sim.mode("lazy"):
        chunk = pinned(1)
        address = chunk.data_ptr()
        sim.memcpy_async(there, chunk)
        assert not sim.pending()[0].tracked
        del chunk
        other = pinned(2)
        assert other.data_ptr() == address
        assert there.tolist() == [2]


def test_the_device_allocator_hears_nothing_either() -> None:
    landing = pinned(0)
    side = gpu.Stream()
    with sim.mode("lazy"):
        source = device(7)
        gpu.synchronize()
        sim.memcpy_async(landing, source.data_ptr(), 4, side)
        del source
        torch.full((1,), -1, dtype=torch.int32, device="sim")  # takes the block
        gpu.synchronize()
        assert landing.tolist() == [-1]


def test_a_pageable_tensor_follows_the_platforms_copy_table() -> None:
    there, row, back = device(0), torch.tensor([5], dtype=torch.int32), torch.zeros(1).int()
    with sim.mode("lazy"):
        sim.memcpy_async(there, row)
        row.zero_()
        sim.memcpy_async(back, there)
        assert back.tolist() == [5]
        rules = Platform(stage_pageable_uploads=False, pageable_downloads_block=False)
        with sim.platform(rules):
            sim.memcpy_async(there, row)
            row.fill_(9)
            sim.memcpy_async(back, there)
            assert back.tolist() == [5]
            gpu.synchronize()
            assert back.tolist() == [9]
        with sim.platform(Platform(pageable_upload_waits=True)):
            there.add_(1)
            sim.memcpy_async(there, row)
            assert [operation.name for operation in sim.pending()] == ["raw upload"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_any_bytes_as_memmove_would(start: int, end: int, nbytes: int) -> None:
    source, target = torch.arange(24, dtype=torch.uint8), torch.zeros(24, dtype=torch.uint8)
    row, there = source.clone().pin_memory(), target.to("sim")
    sim.memcpy_async(there.data_ptr() + end, row.data_ptr() + start, nbytes)
    target[end : end + nbytes] = source[start : start + nbytes]
    assert torch.equal(there.cpu(), target)


def test_a_stream_can_be_named_and_copies_on_it_are_in_its_order() -> None:
    side, there = gpu.Stream(), device(0)
    gpu.synchronize()
    with sim.mode("lazy"):
        sim.memcpy_async(there, pinned(1), stream=side)
        assert [operation.stream.index for operation in sim.pending()] == [side.stream_id]
        assert gpu.current_stream() == gpu.default_stream()
        side.synchronize()
        assert there._inner.tolist() == [1]


def test_a_block_may_be_overrun_within_but_not_beyond() -> None:
    there, row = device(0, 0), pinned(*range(1024))
    sim.memcpy_async(there.data_ptr(), row.data_ptr(), 512)  # as on a GPU: the rest of the block
    assert there.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"nbytes=600, but only 512 bytes follow dst"):
        sim.memcpy_async(there.data_ptr(), row.data_ptr(), 600)
    with pytest.raises(ValueError, match=r"but only 4092 bytes follow src in its block"):
        sim.memcpy_async(device(*range(2048)).data_ptr(), row.data_ptr() + 4, 4096)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda there, row: (there, 16, 4), IllegalAddressError, "src=0x10 is no address"),
        (lambda there, row: (-1, row, 4), IllegalAddressError, "dst=-0x1"),
        (lambda there, row: (there, [1]), TypeError, "src must be a tensor or an address"),
        (lambda there, row: (there.data_ptr(), row.data_ptr()), ValueError, "nbytes is needed"),
        (lambda there, row: (there, row[:1]), ValueError, "dst has 8 bytes, src 4"),
        (lambda there, row: (there, row, 12), ValueError, "nbytes=12, but dst has 8 bytes"),
        (lambda there, row: (there, row, -1), ValueError, "nbytes=-1"),
        (lambda there, row: (there, row, 1.5), ValueError, "nbytes=1.5"),
        (lambda there, row: (row, row), ValueError, "both in host memory"),
        (
            lambda there, row: (there, torch.zeros(4).int()[::2]),
            ValueError,
            "src is not contiguous",
        ),
    ],
)
def test_mistakes_are_named_at_the_call(
    call: Callable[..., Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sim.memcpy_async(*call(device(0, 0), torch.zeros(2).int().pin_memory()))
    assert not sim.pending()


def test_pageable_addresses_are_refused_and_no_bytes_are_no_copy() -> None:
    with pytest.raises(IllegalAddressError, match="pass a pageable tensor itself"):
        sim.memcpy_async(device(0), torch.zeros(1).data_ptr(), 4)
    sim.memcpy_async(device(0), pinned(1), 0)
    sim.memcpy_async(torch.empty(0, device="sim"), torch.empty(0))
    assert not sim.pending()


def test_a_freed_block_can_still_be_addressed_as_on_a_gpu() -> None:
    there = device(7)
    address = there.data_ptr()
    gpu.synchronize()
    del there
    landing = pinned(0)
    sim.memcpy_async(landing, address, 4)
    gpu.synchronize()
    assert landing.tolist() in ([7], [FILL])
