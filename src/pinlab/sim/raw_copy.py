"""Copies between addresses, as an extension makes them: no allocator hears of them.

Extensions that move a cache between host and device call the driver's ``memcpy`` with
``tensor.data_ptr()``. Torch does not see such a copy, so its host allocator may hand a dropped
pinned block out again while the copy is still queued.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from pinlab.sim import streams
from pinlab.sim.capture import refuse_pageable
from pinlab.sim.copies import transfer
from pinlab.sim.errors import IllegalAddressError
from pinlab.sim.operation import Operation
from pinlab.sim.platform import current_platform
from pinlab.sim.state import accelerator, device_memory, host_memory
from pinlab.sim.streams import Stream, current_queue
from pinlab.sim.uva import described

Where = torch.Tensor | int  # a tensor, or an address


@dataclass(frozen=True)
class End:
    """One end of a copy: its bytes as a dense tensor, and what kind of memory they lie in."""

    memory: torch.Tensor
    kind: str  # "device", "pinned" or "pageable"


def memcpy_async(
    dst: Where, src: Where, nbytes: int | None = None, stream: Stream | None = None
) -> None:
    """Queue a copy of `nbytes` bytes from `src` to `dst`; the direction follows from the two.

    Args:
        dst, src: a contiguous tensor, host or device, or an address (``tensor.data_ptr()``) in
            device memory or pinned host memory.
        nbytes: how many bytes; by default all of the tensor, which both must agree on.
        stream: where to queue it; the current stream if None.

    Pinned bytes are read or written when the stream gets there. Pageable tensors follow the rules
    for `non_blocking` copies (staged; a download is complete on return), as the platform has them.

    Raises:
        IllegalAddressError: for an address that the device does not know.
        ValueError: if `nbytes` goes beyond the memory at either end, if a tensor is not contiguous,
            or if both ends are on the host.

    >>> from pinlab import sim
    >>> sim.install()
    >>> there = torch.zeros(2, dtype=torch.int64, device="sim")
    >>> with sim.mode("lazy"):
    ...     chunk = torch.tensor([1, 1]).pin_memory()
    ...     sim.memcpy_async(there.data_ptr(), chunk.data_ptr(), 16)
    ...     del chunk                                          # nobody keeps the block
    ...     other = torch.tensor([2, 2]).pin_memory()          # takes it
    ...     print(there.tolist())
    [2, 2]
    """
    size = _size(dst, src, nbytes)
    if size == 0:
        return
    target, source = _end("dst", dst, size), _end("src", src, size)
    target, source = _in_items(target, source, _item(dst, src))
    with streams.stream(stream):
        if "pageable" in (target.kind, source.kind):
            refuse_pageable(current_queue())
        if target.kind == source.kind == "device":
            _within(target.memory, source.memory)
        elif target.kind == "device":
            _upload(target.memory, source)
        elif source.kind == "device":
            _download(target, source.memory)
        else:
            raise ValueError("dst and src are both in host memory: no work for the device")


def _upload(target: torch.Tensor, source: End) -> None:
    rules = current_platform()
    staged = source.kind == "pageable" and rules.stage_pageable_uploads
    if staged and rules.pageable_upload_waits:
        streams.current_stream().synchronize()
    operation = transfer("upload", target, source.memory.clone() if staged else source.memory)
    operation.name = "raw upload"
    operation.device_writes = (target,)
    operation.host_reads = () if staged else (source.memory,)
    accelerator().submit(operation)


def _download(target: End, source: torch.Tensor) -> None:
    operation = transfer("download", target.memory, source)
    operation.name = "raw download"
    operation.device_reads = (source,)
    operation.host_writes = (target.memory,)
    operation.waited = target.kind == "pageable" and current_platform().pageable_downloads_block
    accelerator().submit(operation)
    if operation.waited:
        accelerator().wait([(operation.stream, operation.seq)])


def _within(target: torch.Tensor, source: torch.Tensor) -> None:
    work = lambda: target.copy_(source)  # noqa: E731
    accelerator().submit(
        Operation("raw copy", "kernel", current_queue(), work, (source,), (target,))
    )


def _size(dst: Where, src: Where, nbytes: int | None) -> int:
    sizes = {
        name: end.numel() * end.element_size()
        for name, end in (("dst", dst), ("src", src))
        if isinstance(end, torch.Tensor)
    }
    if nbytes is None:
        if not sizes:
            raise ValueError("nbytes is needed where dst and src are addresses")
        if len(set(sizes.values())) > 1:
            raise ValueError(f"dst has {sizes['dst']} bytes, src {sizes['src']}: pass nbytes")
        return next(iter(sizes.values()))
    if not isinstance(nbytes, int) or isinstance(nbytes, bool) or nbytes < 0:
        raise ValueError(f"nbytes={nbytes!r}; it must be a whole number from 0")
    for name, size in sizes.items():
        if nbytes > size:
            raise ValueError(f"nbytes={nbytes}, but {name} has {size} bytes")
    return nbytes


def _end(name: str, value: Where, nbytes: int) -> End:
    if isinstance(value, torch.Tensor):
        if not value.is_contiguous():
            raise ValueError(
                f"{name} is not contiguous: {described(value)}, strides {value.stride()}"
            )
        known = _known(value.data_ptr(), nbytes, name)
        if known is None:
            if value.device.type != "cpu":
                raise TypeError(f"{name} is {described(value)}")
            return End(value.detach().view(-1).view(torch.uint8)[:nbytes], "pageable")
        return known
    if not isinstance(value, int):
        raise TypeError(f"{name} must be a tensor or an address, got a {type(value).__name__}")
    known = _known(value, nbytes, name)
    if known is None:
        raise IllegalAddressError(
            f"{name}={value:#x} is no address of device memory or pinned host memory "
            "(pass a pageable tensor itself)"
        )
    return known


def _known(address: int, nbytes: int, name: str) -> End | None:
    """The bytes from an address on, if the device knows it."""
    pinned = host_memory.find(address)
    block = device_memory.find(address) if pinned is None else None
    if pinned is not None:  # behind the fence it is mapped twice: the host's address counts
        memory, kind, start = pinned.memory, "pinned", pinned.pages.address
    elif block is not None:
        memory, kind, start = block.memory, "device", block.memory.data_ptr()
    else:
        return None
    offset = address - start
    if offset + nbytes > memory.numel():
        left = memory.numel() - offset
        raise ValueError(f"nbytes={nbytes}, but only {left} bytes follow {name} in its block")
    return End(memory[offset : offset + nbytes], kind)


def _item(dst: Where, src: Where) -> torch.dtype:
    tensors = [end for end in (dst, src) if isinstance(end, torch.Tensor)]
    return tensors[0].dtype if tensors else torch.uint8


def _in_items(target: End, source: End, dtype: torch.dtype) -> tuple[End, End]:
    """Both ends as items of `dtype` where they fit: a torn copy is torn between items."""
    size, both = dtype.itemsize, (target, source)
    if any(end.memory.storage_offset() % size or end.memory.numel() % size for end in both):
        return both
    first, second = [End(end.memory.view(dtype), end.kind) for end in both]
    return first, second
