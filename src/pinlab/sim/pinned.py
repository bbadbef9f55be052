"""Pinned host memory and its caching allocator.

A pinned tensor is an ordinary CPU tensor on pages of our own; that is how a copy tells pinned from
pageable: by address. When the last tensor of a block dies, the block is handed out again, but not
while a queued copy that the allocator knows of still uses it (`Platform.host_allocator_tracks`).
"""

from __future__ import annotations

import bisect
import threading
import weakref
from collections import deque
from collections.abc import Callable

import torch

from pinlab.sim.blocks import Use, still_used
from pinlab.sim.errors import ForkedProcessError
from pinlab.sim.pages import PAGE, Pages
from pinlab.sim.place import Place, caller_place
from pinlab.sim.platform import current_platform
from pinlab.sim.queue import StreamQueue


class PinnedBlock:
    """Some locked pages. `memory` is the device's own view: it does not keep the block in use.

    `users` are the streams on which the allocator knows of a copy since the block was handed out.
    """

    __slots__ = ("drops", "memory", "pages", "place", "users", "views")
    managed = True  # by the caching allocator; memory that the user registered is not

    def __init__(self, pages: Pages, memory: torch.Tensor) -> None:
        self.pages = pages
        self.show(memory)
        self.users: set[StreamQueue] = set()
        self.place: Place | None = None  # the line that got it last
        self.drops = 0  # how often its last tensor has died

    @classmethod
    def of_size(cls, size: int) -> PinnedBlock:
        """On new pages."""
        pages = Pages(size)
        return cls(pages, torch.frombuffer(pages.mapping, dtype=torch.uint8))

    def show(self, memory: torch.Tensor) -> None:
        """From now on the device sees the pages through `memory`."""
        self.memory = memory
        self.views: dict[object, torch.Tensor] = {}  # of it, by address and layout

    def __repr__(self) -> str:
        return f"<pinned block, {self.pages.size} bytes, locked={self.pages.locked}>"


class PinnedAllocator:
    """Hands out pinned blocks by size (powers of two, at least a page), last freed first.

    A block that copies used is free again when its streams have passed what was queued on them at
    its death: as PyTorch does it, with an event per stream (``ATen/core/CachingHostAllocator.h``).
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.returned: deque[tuple[PinnedBlock, list[Use]]] = deque()  # from finalizers
        self.free: dict[int, list[PinnedBlock]] = {}
        self.guarded: list[tuple[PinnedBlock, list[Use]]] = []
        self.known: tuple[list[int], list[PinnedBlock]] = ([], [])  # by address, for `find`
        self.fill: int | None = 0xCD
        self.forked = False
        self.new_block: Callable[[int], PinnedBlock] = PinnedBlock.of_size  # a new one
        self.looking: Callable[[], None] = lambda: None  # called when recycling depends on progress
        self.taken: Callable[[PinnedBlock], None] = lambda block: (
            None
        )  # a block is handed out again
        self.dropped: Callable[[PinnedBlock], None] = lambda block: None  # its last tensor is gone

    def allocate(
        self, shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        """An uninitialised pinned tensor; its bytes hold the recognisable fill.

        Without bytes it is an ordinary one, as in PyTorch.
        """
        if self.forked:
            raise ForkedProcessError("no memory can be pinned after fork(); use the 'spawn' method")
        nbytes = _extent(shape, stride) * dtype.itemsize
        with torch.inference_mode(False):
            if not nbytes:
                return torch.empty_strided(shape, stride, dtype=dtype, device="cpu")
            block = self._take(max(PAGE, 1 << (nbytes - 1).bit_length()))
            block.place = caller_place()
            if self.fill is not None:
                block.memory.fill_(self.fill)
            exporter = block.pages.exporter()
            weakref.finalize(exporter, self._give_back, block).atexit = False
            items = torch.frombuffer(exporter, dtype=dtype, count=nbytes // dtype.itemsize)
            return items.as_strided_(shape, stride)  # in place: as in PyTorch, no view of another

    def _take(self, size: int) -> PinnedBlock:
        with self.lock:
            self._collect()
            if any(block.pages.size == size for block, _ in self.guarded):
                self.looking()
                self._collect()
            blocks = self.free.get(size)
            if blocks:
                self.taken(blocks[-1])
                return blocks.pop()
            try:
                block = self.new_block(size)
            except OSError as error:
                raise torch.OutOfMemoryError(
                    f"no memory to pin: the system refused {size:,} bytes ({error.strerror})"
                ) from error
            self.know(block)
            return block

    def know(self, block: PinnedBlock) -> None:
        """From now on its pages are pinned memory."""
        self._replace([*self.known[1], block])

    def forget(self, block: PinnedBlock) -> None:
        """They are no longer."""
        self._replace([other for other in self.known[1] if other is not block])

    def _replace(self, blocks: list[PinnedBlock]) -> None:
        known = sorted(blocks, key=lambda block: block.pages.address)
        self.known = ([block.pages.address for block in known], known)  # whole: `find` has no lock

    def _give_back(self, block: PinnedBlock) -> None:
        """The last tensor is gone. A finalizer: on any thread, at any time, without the lock."""
        uses = [(user, user.submitted) for user in block.users]
        block.users.clear()
        block.drops += 1
        self.dropped(block)
        self.returned.append((block, uses))

    def _collect(self) -> None:
        while self.returned:
            block, uses = self.returned.popleft()
            if uses:
                self.guarded.append((block, uses))
            else:
                self._put(block)
        waiting, self.guarded = self.guarded, []
        for block, uses in waiting:
            if still_used(uses):
                self.guarded.append((block, uses))
            else:
                self._put(block)

    def _put(self, block: PinnedBlock) -> None:
        self.free.setdefault(block.pages.size, []).append(block)

    def in_use(self) -> list[PinnedBlock]:
        """The blocks that live tensors hold."""
        with self.lock:
            self._collect()
            idle = {id(block) for blocks in self.free.values() for block in blocks}
            idle |= {id(block) for block, _ in self.guarded}
            return [block for block in self.known[1] if id(block) not in idle]

    def find(self, address: int) -> PinnedBlock | None:
        """The block that holds `address`, if it is pinned memory."""
        addresses, known = self.known
        at = bisect.bisect(addresses, address) - 1
        if at >= 0 and address < known[at].pages.address + known[at].pages.size:
            return known[at]
        return None

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        """Whether a CPU tensor's storage is pinned; a view of pinned memory is, even an empty one.

        PyTorch asks CUDA about the storage's base address too (``is_pinned`` in ``Memory.cpp``).
        """
        if not self.known[0] or not tensor.is_cpu or tensor.layout is not torch.strided:
            return False
        if self.find(tensor.data_ptr()) is not None:  # also if only a part of it was registered
            return True
        return self.find(tensor.untyped_storage().data_ptr()) is not None

    def tracked_block(self, tensor: torch.Tensor) -> PinnedBlock | None:
        """The block that this platform's allocator recognises as the tensor's, if any."""
        rules = current_platform()
        if not rules.host_allocator_tracks:
            return None
        by_storage = rules.track_by == "storage"
        address = tensor.untyped_storage().data_ptr() if by_storage else tensor.data_ptr()
        block = self.find(address)
        if block is None or not block.managed or block.pages.address != address:
            return None
        return block

    def device_view(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same bytes as the device sees them: a tensor that does not keep the block in use."""
        block = self.find(tensor.data_ptr())
        if block is None or tensor.numel() == 0:
            return tensor
        if tensor.is_conj() or tensor.is_neg():
            return self._new_view(block, tensor)
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        view = block.views.get(key)
        if view is None:
            if len(block.views) > 16:
                block.views.clear()
            view = block.views[key] = self._new_view(block, tensor)
        return view

    def _new_view(self, block: PinnedBlock, tensor: torch.Tensor) -> torch.Tensor:
        item = tensor.dtype.itemsize
        base = block.pages.address - int(block.memory.storage_offset())  # may be mapped twice
        offset, odd = divmod(tensor.data_ptr() - base, item)
        if odd:
            return tensor  # not aligned to its own items: no such view exists
        rest = block.memory.numel() % item  # of registered memory
        memory = block.memory[:-rest] if rest else block.memory
        view = memory.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), offset)
        if tensor.is_conj():
            torch._C._set_conj(view, True)
        if tensor.is_neg():
            torch._C._set_neg(view, True)
        return view

    def reset(self) -> None:
        """Forget uses recorded on streams that a reset has emptied, and what was freed."""
        with self.lock:
            for block in self.known[1]:
                block.users.clear()
            self._collect()


def _extent(shape: torch.Size, stride: tuple[int, ...]) -> int:
    """Items from the first to the last one of a layout, both counted."""
    if 0 in shape:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(shape, stride, strict=True))
