"""The copy table: what crosses the link, when the host's bytes are read or written, who waits.

The decisions follow PyTorch's own CUDA copy (``aten/src/ATen/native/cuda/Copy.cu``): a copy of one
dtype whose two layouts coalesce to the same dense run is *direct*; any other packs both sides, and
converts on the device if `non_blocking`, else on the host.
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.arguments import mismatch
from pinlab.sim.capture import refuse_pageable
from pinlab.sim.memory import new_tensor
from pinlab.sim.operation import Operation, Work
from pinlab.sim.platform import current_platform
from pinlab.sim.shapes import Layout
from pinlab.sim.state import accelerator, host_memory
from pinlab.sim.streams import current_queue
from pinlab.sim.tensor import SimTensor

FROM_DISPATCH = 5  # two functions here, one of `crossings`, `dispatch` and what called it

__all__ = ["download", "mismatch", "to_cpu", "transfer", "upload"]


def upload(target: SimTensor, source: torch.Tensor, non_blocking: bool) -> SimTensor:
    """Host to device, as ``target.copy_(source, non_blocking)``."""
    expanded = source.detach()
    if expanded.shape != target.shape:
        expanded = expanded.expand(target.shape)  # torch's own error if it cannot be broadcast
    if target.numel() == 0:
        return target
    if _is_direct(target, expanded):
        _raw_upload(target, expanded, non_blocking)
        return target
    if not non_blocking:  # then the host converts, else the device does
        expanded = expanded.to(target.dtype)
    packed = expanded.contiguous()  # on the host, now, unless it is contiguous already
    if target.is_contiguous() and target.dtype == packed.dtype:
        _raw_upload(target, packed, non_blocking)
    else:
        landing = new_tensor(Layout.of(packed), current_queue())
        _raw_upload(landing, packed, non_blocking)
        target.copy_(landing)
    return target


def _raw_upload(target: SimTensor, source: torch.Tensor, non_blocking: bool) -> None:
    rules, device, stream = current_platform(), accelerator(), current_queue()
    pinned = host_memory.is_pinned(source)
    if not pinned:
        refuse_pageable(stream)
    if pinned:
        bytes_read_late = host_memory.device_view(source)
    elif non_blocking and rules.stage_pageable_uploads:
        if rules.pageable_upload_waits:
            device.wait([(stream, stream.submitted)])
        bytes_read_late = source.clone()  # the driver's staging buffer
    else:
        bytes_read_late = source
    staged = not pinned and non_blocking and rules.stage_pageable_uploads
    operation = transfer("upload", target._inner, bytes_read_late)
    operation.device_writes = (target._inner,)
    operation.host_reads = () if staged else (bytes_read_late,)
    operation.waited = not non_blocking
    _track(source, operation)
    device.submit(operation, FROM_DISPATCH)
    if operation.waited:
        device.wait([(stream, operation.seq)])


def download(target: torch.Tensor, source: SimTensor, non_blocking: bool) -> torch.Tensor:
    """Device to host, as ``target.copy_(source, non_blocking)``."""
    if target.device.type != "cpu":
        raise mismatch("aten.copy_", target.device)
    expanded: Any = source.detach()
    if expanded.shape != target.shape:
        expanded = expanded.expand(target.shape)
    if target.numel() == 0:
        return target
    if _is_direct(target, expanded):
        _raw_download(target.detach(), expanded, non_blocking)
        return target
    wanted = target.dtype if non_blocking else source.dtype  # who converts: device or host
    packed: Any = expanded.to(wanted).contiguous()
    same = target.is_contiguous() and target.dtype == wanted
    landing = target.detach() if same else torch.empty(target.shape, dtype=wanted, device="cpu")
    _raw_download(landing, packed, non_blocking)
    if not same:  # at once, as PyTorch does, also where the platform's download is not done yet
        target.detach().copy_(landing)
    return target


def _raw_download(target: torch.Tensor, source: SimTensor, non_blocking: bool) -> None:
    device, stream = accelerator(), current_queue()
    pinned = host_memory.is_pinned(target)
    if not pinned:
        refuse_pageable(stream)
    landing = host_memory.device_view(target) if pinned else target
    operation = transfer("download", landing, source._inner)
    operation.device_reads = (source._inner,)
    operation.host_writes = (landing,)
    blocks = not pinned and current_platform().pageable_downloads_block
    operation.waited = blocks or not non_blocking
    _track(target, operation)
    device.submit(operation, FROM_DISPATCH)
    if operation.waited:
        device.wait([(stream, operation.seq)])


def to_cpu(
    source: SimTensor,
    dtype: torch.dtype | None,
    non_blocking: bool,
    memory_format: torch.memory_format | None,
) -> torch.Tensor:
    """``source.to("cpu", …)``: a new host tensor, pinned if `non_blocking`."""
    like = torch.empty_like(
        source._layout.meta(),
        dtype=dtype or source.dtype,
        memory_format=memory_format or torch.preserve_format,
    )
    pin = non_blocking and current_platform().pinning
    if pin:
        target = host_memory.allocate(like.shape, like.stride(), like.dtype)
    else:
        target = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device="cpu")
    return download(target, source, non_blocking)


def _is_direct(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether both are one dense run of bytes in the same order of elements."""
    if left.dtype != right.dtype:
        return False
    if left.numel() == 1 or (left.is_contiguous() and right.is_contiguous()):
        return True
    sizes = zip(left.shape, left.stride(), right.stride(), strict=True)
    if any(n > 1 and a != b for n, a, b in sizes):
        return False
    return _is_dense(left)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one run of memory, each once, in any order of dimensions."""
    expected = 1
    for step, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length > 1:
            if step != expected:
                return False
            expected *= length
    return True


def transfer(name: str, target: torch.Tensor, source: torch.Tensor) -> Operation:
    """The operation, on the current stream, that moves one dense run of items to another."""
    nbytes = source.nbytes
    work = _mover(target, source)
    operation = Operation(name, name, current_queue(), work)
    operation.nbytes = nbytes
    operation.pieces = lambda count: _tear(target, source, count)
    return operation


def _mover(target: torch.Tensor, source: torch.Tensor) -> Work:
    """The copy itself. A host tensor made under inference mode can only be written under it."""
    if not target.is_inference():
        return lambda: target.copy_(source)

    def work() -> None:
        with torch.inference_mode():
            target.copy_(source)

    return work


def _tear(target: torch.Tensor, source: torch.Tensor, count: int) -> list[Work]:
    """The same copy in `count` parts, in address order."""
    count = max(1, min(count, target.numel()))
    run = (target.numel(),)
    left = target.as_strided(run, (1,)).tensor_split(count)
    right = source.as_strided(run, (1,)).tensor_split(count)
    return [_mover(a, b) for a, b in zip(left, right, strict=True)]


def _track(tensor: torch.Tensor, operation: Operation) -> None:
    """Tell the host allocator, if it recognises the tensor, that a queued copy uses its block."""
    block = host_memory.tracked_block(tensor)
    operation.tracked = block is not None
    if block is not None:
        block.users.add(operation.stream)
