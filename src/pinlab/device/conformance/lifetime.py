"""Which memory is pinned, and how long a block stays with its copies.

Sources: ``aten/src/ATen/native/Memory.cpp`` (`is_pinned` asks about the storage's address);
``aten/src/ATen/core/CachingHostAllocator.h`` (a freed block waits for the streams whose copies used
it); the reference of `Tensor.record_stream`.
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab.device.conformance.check import check, expect, expect_values, pinned, zeros
from pinlab.device.hold import hold


@check
def views_of_pinned_memory_are_pinned(device: torch.device) -> None:
    """Slices, reshapes, transposes, other dtypes and numpy faces of pinned memory are pinned."""
    row = pinned(*range(12))
    face = torch.from_numpy(row.numpy())
    views = {
        "row[4:]": row[4:],
        "row[::2]": row[::2],
        "row.view(3, 4)": row.view(3, 4),
        "row.view(3, 4).t()": row.view(3, 4).t(),
        "row.view(torch.int32)": row.view(torch.int32),
        "row.detach()": row.detach(),
        "from_numpy(row.numpy())": face,
        "from_numpy(row.numpy()[4:])": torch.from_numpy(row.numpy()[4:]),
        "from_numpy(row.numpy())[4:]": face[4:],
    }
    for name, view in views.items():
        expect(view.is_pinned(), f"{name} is not pinned")


@check
def copies_of_pinned_memory_are_not_pinned(device: torch.device) -> None:
    """`clone()`, numpy's `copy()`, conversions and results of arithmetic are pageable."""
    row = pinned(*range(12))
    copies = {
        "row.clone()": row.clone(),
        "from_numpy(row.numpy().copy())": torch.from_numpy(row.numpy().copy()),
        "row.to(torch.float32)": row.to(torch.float32),
        "row + 0": row + 0,
        "row[[0, 1]]": row[[0, 1]],
        "row[::2].contiguous()": row[::2].contiguous(),
        "torch.empty_like(row)": torch.empty_like(row),
    }
    for name, copy in copies.items():
        expect(not copy.is_pinned(), f"{name} is pinned")


@check
def pin_memory_copies_once(device: torch.device) -> None:
    """`pin_memory()` copies pageable memory, and gives pinned memory back as it is."""
    row = torch.tensor([5, 7, 9])
    fixed = row.pin_memory()
    expect(fixed.is_pinned() and not row.is_pinned(), "the copy is not pinned, or its source is")
    row.fill_(0)
    expect_values(fixed, [5, 7, 9], "the pinned copy")
    expect(fixed.pin_memory().data_ptr() == fixed.data_ptr(), "a pinned tensor was copied")


@check
def factories_pin(device: torch.device) -> None:
    """`pin_memory=True` is understood by the factory functions."""
    made = {
        "zeros": torch.zeros(3, pin_memory=True),
        "empty": torch.empty(3, pin_memory=True),
        "full": torch.full((3,), 2, pin_memory=True),
        "tensor": torch.tensor([1, 2], pin_memory=True),
        "arange": torch.arange(3, pin_memory=True),
        "rand": torch.rand(3, pin_memory=True),
        "zeros_like": torch.zeros_like(torch.ones(3), pin_memory=True),
    }
    for name, tensor in made.items():
        expect(tensor.is_pinned(), f"{name}(…, pin_memory=True) is not pinned")
        expect(tensor.device.type == "cpu", f"{name}(…, pin_memory=True) is not on the host")


@check
def a_dropped_source_stays_until_its_copy_is_done(device: torch.device) -> dict[str, Any]:
    """A pinned source may be dropped right after the call: its block is not handed out yet."""
    there = zeros(device, 1000)

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        """Two blocks of one size: so that the second `full` below needs no new memory."""
        return tuple(torch.full((1000,), 5, pin_memory=True) for _ in range(2))  # type: ignore[return-value]

    with hold(warmup=both) as gate:
        source = torch.full((1000,), 7, pin_memory=True)
        address = source.data_ptr()
        there.copy_(source, non_blocking=True)
        del source
        other = torch.full((1000,), 9, pin_memory=True)
        expect(other.data_ptr() != address, "the block was handed out with its copy pending")
        early = not gate.released
    expect(there.sum().item() == 7000, f"the copy read {there[0].item()}, not 7")
    return {"returned before the release": early}


@check
def a_dropped_target_stays_until_its_copy_is_done(device: torch.device) -> None:
    """A pinned target may be dropped too: what comes next is not overwritten by its download."""
    there = zeros(device, 1000).fill_(7)

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        return tuple(torch.full((1000,), 5, pin_memory=True) for _ in range(2))  # type: ignore[return-value]

    with hold(warmup=both):
        target = torch.full((1000,), 5, pin_memory=True)
        target.copy_(there, non_blocking=True)
        del target
        other = torch.full((1000,), 9, pin_memory=True)
    torch.get_device_module(device).synchronize()
    expect(int(other.sum()) == 9000, f"the download went into a new tensor: {other[0]}")


@check
def record_stream_keeps_a_block(device: torch.device) -> None:
    """After `record_stream`, a dropped tensor's block waits for that stream."""
    gpu = torch.get_device_module(device)
    host, other = torch.zeros(100_000, dtype=torch.int64, pin_memory=True), gpu.Stream()

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        return tuple(torch.zeros_like(host, device=device) for _ in range(2))  # type: ignore[return-value]

    both()
    gpu.synchronize()
    source = torch.zeros_like(host, device=device).fill_(7)
    gpu.synchronize()
    with hold(other):
        with gpu.stream(other):
            host.copy_(source, non_blocking=True)
        source.record_stream(other)
        del source
        fresh = torch.zeros_like(host, device=device).fill_(9)  # on the current stream
        gpu.current_stream().synchronize()
    gpu.synchronize()
    expect(int(host.sum()) == 700_000, f"the download read {host[0]}, the next tensor's value")
    expect(fresh.sum().item() == 900_000, "the next tensor was damaged")
