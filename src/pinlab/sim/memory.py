"""Device tensors and their memory: new ones, and other sizes for old ones."""

from __future__ import annotations

import sys

import torch

from pinlab.sim.blocks import Allocation
from pinlab.sim.queue import StreamQueue
from pinlab.sim.shapes import Layout
from pinlab.sim.state import accelerator, device_memory
from pinlab.sim.streams import check_device, current_queue
from pinlab.sim.tensor import SimTensor, whole, wrap


def new_tensor(layout: Layout, stream: StreamQueue) -> SimTensor:
    """A tensor whose bytes an operation on `stream` will fill."""
    memory = device_memory.allocate(layout.nbytes, stream)
    inner = memory.block.views.get(layout)
    return whole(typed_view(memory, layout) if inner is None else inner, layout, memory)


def typed_view(memory: Allocation, layout: Layout) -> torch.Tensor:
    """The block's bytes in a layout; kept with the block, since layouts come back."""
    views = memory.block.views
    view = views.get(layout)
    if view is None:
        if len(views) > 16:
            views.clear()
        with torch.inference_mode(False):  # device memory outlives the mode, and so do its views
            typed = memory.block.memory.view(layout.dtype)
            view = views[layout] = typed.as_strided(layout.shape, layout.stride)
    return view


def empty_tensor(layout: Layout) -> SimTensor:
    """An uninitialised tensor: its block holds the recognisable fill, in stream order."""
    stream = current_queue()
    tensor = new_tensor(layout, stream)
    memory = tensor._memory
    if not memory.fresh and device_memory.fill is not None and stream.capture is None:
        block = memory.block
        accelerator().fill(stream, (block.memory, device_memory.fill), block.freed)
    return tensor


def empty(
    size: list[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> SimTensor:
    """``aten::empty.memory_format`` for the simulated device."""
    check_options(layout, device, pin_memory)
    meta = torch.empty(
        size, dtype=dtype, device="meta", memory_format=memory_format or torch.contiguous_format
    )
    return empty_tensor(Layout.of(meta))


def empty_strided(
    size: list[int],
    stride: list[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> SimTensor:
    """``aten::empty_strided`` for the simulated device."""
    check_options(layout, device, pin_memory)
    known = Layout.known.get((torch.Size(size), tuple(stride), dtype))
    if known is None:  # torch's own errors, and its default dtype
        meta = torch.empty_strided(size, stride, dtype=dtype, device="meta")
        known = Layout.of(meta)
    return empty_tensor(known)


def check_options(
    layout: torch.layout | None, device: torch.device | None, pin_memory: bool | None
) -> None:
    """Refuse what a tensor of the simulated device cannot be: sparse, pinned, elsewhere."""
    check_device(device)
    if layout not in (None, torch.strided):
        raise NotImplementedError(f"the simulated device has no {layout} tensors")
    if pin_memory:
        raise RuntimeError("only dense CPU tensors can be pinned, not tensors on sim:0")


def resize(tensor: SimTensor, shape: torch.Size, stride: tuple[int, ...]) -> None:
    """Give `tensor` another size, on the same bytes as far as they reach, as `Tensor.resize_`.

    Raises:
        RuntimeError: the memory must grow, but other tensors look at it too. (Torch would move
            them along; here they could not follow.)
    """
    layout = Layout.get(torch.Size(shape), tuple(stride), tensor.dtype)
    shared = _references(tensor) > _references(empty_tensor(layout))
    memory = tensor._memory
    offset = int(tensor._inner.storage_offset())
    end = (offset + layout.extent) * layout.dtype.itemsize if layout.numel else 0
    if end > memory.nbytes:
        if memory.nbytes and shared:
            raise RuntimeError(
                f"cannot grow from {memory.nbytes} to {end} bytes: other tensors share the memory"
            )
        memory = _grown(tensor, end)._memory
    inner = memory.block.memory.view(layout.dtype).as_strided(layout.shape, layout.stride, offset)
    tensor.data = wrap(inner, layout, memory)


def _references(tensor: SimTensor) -> int:
    return sys.getrefcount(tensor._memory)


def _grown(tensor: SimTensor, nbytes: int) -> SimTensor:
    larger, old = empty_tensor(_bytes_layout(nbytes)), tensor._memory
    if old.nbytes:
        layout = _bytes_layout(old.nbytes)
        start = wrap(larger._inner[: old.nbytes], layout, larger._memory)
        start.copy_(wrap(old.block.memory[: old.nbytes], layout, old))
    return larger


def _bytes_layout(nbytes: int) -> Layout:
    return Layout.get(torch.Size([nbytes]), (1,), torch.uint8)
