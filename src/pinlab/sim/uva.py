"""Device tensors over pinned host memory ("unified virtual addressing"): no copy, now or later."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.blocks import Allocation, Block
from pinlab.sim.errors import IllegalAddressError
from pinlab.sim.operation import Operation
from pinlab.sim.shapes import Layout
from pinlab.sim.state import accelerator, device_memory, host_memory
from pinlab.sim.tensor import SimTensor, wrap


def uva_view(tensor: torch.Tensor) -> torch.Tensor:
    """A device tensor over the bytes of a pinned host tensor: no copy, now or later.

    Every operator on it reads or writes the host's memory when the stream gets there. The view
    keeps the pinned block in use; queued work does not: drop the view, and the block may be handed
    out again before the work has run.

    Args:
        tensor: a pinned CPU tensor of any layout and dtype.

    Raises:
        IllegalAddressError: if it is not pinned.

    >>> from pinlab import sim
    >>> sim.install()
    >>> row = torch.tensor([5, 7], pin_memory=True)
    >>> there = sim.uva_view(row)
    >>> with sim.mode("lazy"):
    ...     doubled = there * 2
    ...     row[1] = 40
    ...     print(there.device, doubled.tolist())
    sim:0 [10, 80]
    """
    if isinstance(tensor, SimTensor) or not isinstance(tensor, torch.Tensor):
        raise TypeError(f"uva_view takes a pinned CPU tensor, not {described(tensor)}")
    block = host_memory.find(tensor.data_ptr())
    if block is None:
        raise IllegalAddressError(f"uva_view needs pinned memory; this is {described(tensor)}")
    if (tensor.data_ptr() - block.pages.address) % tensor.element_size():
        raise ValueError(f"uva_view of {described(tensor)}: it is not aligned to its own items")
    inner = host_memory.device_view(tensor.detach())
    accelerator().mapped = _note_host_memory
    return wrap(inner, Layout.of(inner), Mapped(tensor, block.memory))


class Mapped(Allocation):
    """What the views of one `uva_view` hold together: the host's tensor. Nothing to give back."""

    __slots__ = ("owner",)

    def __init__(self, owner: torch.Tensor, memory: torch.Tensor) -> None:
        self.owner = owner
        self.block = Block(memory, accelerator().default, -1)
        self.nbytes = self.block.size
        self.allocator = device_memory
        self.fresh = True
        self.users = None

    def record(self, stream: object) -> None:
        """`record_stream` is about blocks of the device's allocator; this is none."""

    def __del__(self) -> None:
        pass


def _note_host_memory(operation: Operation) -> None:
    """Device operands that lie in host memory are host bytes too: the host may race for them."""
    reads = tuple(t for t in operation.device_reads if host_memory.find(t.data_ptr()))
    writes = tuple(t for t in operation.device_writes if host_memory.find(t.data_ptr()))
    operation.host_reads += reads
    operation.host_writes += writes


def described(value: Any) -> str:
    """What and where a tensor is, for an error message."""
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    dtype = str(value.dtype).removeprefix("torch.")
    place = "pageable host" if value.device.type == "cpu" else str(value.device)
    if value.layout is not torch.strided:
        return f"a {value.layout} tensor on {value.device}"
    if value.device.type == "cpu" and host_memory.find(value.data_ptr()) is not None:
        place = "pinned host"
    return f"a tensor {dtype}{list(value.shape)} in {place} memory"
