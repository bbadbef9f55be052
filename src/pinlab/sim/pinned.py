"""Pinned host memory and its caching allocator.

A pinned tensor is an ordinary CPU tensor on pages of our own; that is how a copy tells pinned from
pageable: by address. When the last tensor of a block dies, the block is handed out again, but not
while a queued copy that the allocator knows of still uses it (`Platform.host_allocator_tracks`).
"""

from __future__ import annotations

import bisect
import weakref
from collections import deque

import torch

from pinlab.sim.blocks import Use, still_used
from pinlab.sim.pages import PAGE, Pages
from pinlab.sim.platform import current_platform


class PinnedBlock:
    """Some locked pages. `memory` is the device's own view: it does not keep the block in use."""

    __slots__ = ("generation", "memory", "pages", "uses")

    def __init__(self, size: int, generation: int) -> None:
        self.pages = Pages(size)
        self.generation = generation
        self.memory = torch.frombuffer(self.pages.mapping, dtype=torch.uint8)
        self.uses: list[Use] = []

    def __repr__(self) -> str:
        return f"<pinned block, {self.pages.size} bytes, locked={self.pages.locked}>"


class PinnedAllocator:
    """Hands out pinned blocks by size (powers of two, at least a page), last freed first."""

    def __init__(self) -> None:
        self.returned: deque[PinnedBlock] = deque()  # filled from finalizers, on any thread
        self.free: dict[int, list[PinnedBlock]] = {}
        self.guarded: list[PinnedBlock] = []
        self.addresses: list[int] = []  # sorted, for `find`
        self.blocks: list[PinnedBlock] = []  # in the order of `addresses`
        self.generation = 0
        self.fill: int | None = 0xCD

    def allocate(
        self, shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        """An uninitialised pinned tensor; its bytes hold the recognisable fill."""
        nbytes = _extent(shape, stride) * dtype.itemsize
        block = self._take(max(PAGE, 1 << max(0, nbytes - 1).bit_length()))
        if self.fill is not None:
            block.memory.fill_(self.fill)
        exporter = block.pages.exporter()
        weakref.finalize(exporter, self.returned.append, block).atexit = False
        count = max(1, nbytes // dtype.itemsize)
        with torch.inference_mode(False):
            return torch.frombuffer(exporter, dtype=dtype, count=count).as_strided(shape, stride)

    def _take(self, size: int) -> PinnedBlock:
        self._collect()
        blocks = self.free.get(size)
        if blocks:
            return blocks.pop()
        block = PinnedBlock(size, self.generation)
        at = bisect.bisect(self.addresses, block.pages.address)
        self.addresses.insert(at, block.pages.address)
        self.blocks.insert(at, block)
        return block

    def _collect(self) -> None:
        while self.returned:
            self.guarded.append(self.returned.popleft())
        waiting = []
        for block in self.guarded:
            if still_used(block.uses):
                waiting.append(block)
            else:
                block.uses.clear()
                self.free.setdefault(block.pages.size, []).append(block)
        self.guarded = waiting

    def find(self, address: int) -> PinnedBlock | None:
        """The block that holds `address`, if it is pinned memory."""
        at = bisect.bisect(self.addresses, address) - 1
        if at >= 0:
            block = self.blocks[at]
            if address < block.pages.address + block.pages.size:
                return block
        return None

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        """Whether a CPU tensor's bytes are pinned; a view of pinned memory is."""
        return bool(self.addresses) and self.find(tensor.data_ptr()) is not None

    def tracked_block(self, tensor: torch.Tensor) -> PinnedBlock | None:
        """The block that this platform's allocator recognises as the tensor's, if any."""
        rules = current_platform()
        if not rules.host_allocator_tracks:
            return None
        by_storage = rules.track_by == "storage"
        address = tensor.untyped_storage().data_ptr() if by_storage else tensor.data_ptr()
        block = self.find(address)
        return block if block is not None and block.pages.address == address else None

    def device_view(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same bytes as the device sees them: a tensor that does not keep the block in use."""
        block = self.find(tensor.data_ptr())
        if block is None or tensor.numel() == 0:
            return tensor
        offset, odd = divmod(tensor.data_ptr() - block.pages.address, tensor.dtype.itemsize)
        if odd:
            return tensor  # not aligned to its own items: no such view exists
        typed = block.memory.view(tensor.dtype)
        return typed.as_strided(tensor.shape, tensor.stride(), offset)

    def reset(self) -> None:
        """Forget uses recorded on streams that a reset has emptied, and what was freed."""
        for block in self.blocks:
            block.uses.clear()
        self._collect()


def _extent(shape: torch.Size, stride: tuple[int, ...]) -> int:
    """Items from the first to the last one of a layout, both counted."""
    if 0 in shape:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(shape, stride, strict=True))
