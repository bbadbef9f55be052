"""The caching allocator of device memory.

A tensor's death gives its block back at once, although queued work may still use the bytes: work
on the owning stream comes later in the queue anyway. Another stream has no such order; that is what
`record_stream` is for. Blocks are recycled by exact rounded size, the last one freed first (a
simplification: CUDA's allocator also splits and merges blocks).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

import torch

from pinlab.sim.queue import StreamQueue

ROUND = 512  # bytes; PyTorch's CUDA allocator rounds sizes up to multiples of this
Use = tuple[StreamQueue, int]  # "stream, up to this sequence number"


def round_up(nbytes: int, unit: int = ROUND) -> int:
    """The next multiple of `unit`, at least one unit.

    >>> round_up(0), round_up(512), round_up(513)
    (512, 512, 1024)
    """
    return max(unit, -(-nbytes // unit) * unit)


class BlockPool:
    """Memory set apart for graphs: its blocks come back here, and are lent to captures only.

    `graphs` is how many graphs use it; with the last one its free blocks are forgotten.
    """

    def __init__(self) -> None:
        self.free: dict[tuple[StreamQueue, int], list[Block]] = {}
        self.graphs = 0

    def __repr__(self) -> str:
        count = sum(len(blocks) for blocks in self.free.values())
        return f"<graph memory pool, {count} free block(s), {self.graphs} graph(s)>"


class Block:
    """A piece of device memory: `memory`, a uint8 CPU tensor that stands for it.

    `freed` is how many entries its stream had queued when it was freed last.
    """

    __slots__ = ("freed", "generation", "memory", "pool", "size", "stream", "views")

    def __init__(self, memory: torch.Tensor, stream: StreamQueue, generation: int) -> None:
        self.memory = memory
        self.size = memory.numel()
        self.stream = stream
        self.generation = generation
        self.freed = 0
        self.pool: BlockPool | None = None
        self.views: dict[object, torch.Tensor] = {}  # layout -> typed view, kept for the next use


class Allocation:
    """What the tensors of one storage hold together. Its end returns the block."""

    __slots__ = ("__weakref__", "allocator", "block", "fresh", "nbytes", "users")

    def __init__(self, block: Block, nbytes: int, allocator: DeviceAllocator, fresh: bool) -> None:
        self.block = block
        self.nbytes = nbytes  # as asked for; the block is rounded up
        self.allocator = allocator
        self.fresh = fresh
        self.users: set[StreamQueue] | None = None

    def record(self, stream: StreamQueue) -> None:
        """`record_stream`: the block must not be reused before `stream` got past its free."""
        if stream is not self.block.stream:
            self.users = {*(self.users or ()), stream}

    def __del__(self) -> None:
        block, users = self.block, self.users
        block.freed = block.stream.submitted
        uses = [(user, user.submitted) for user in users] if users else None
        self.allocator.returned.append((block, uses))


class DeviceAllocator:
    """Hands out blocks; `returned` is filled from destructors, on any thread, without the lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a destructor of the user's may allocate meanwhile
        self.returned: deque[tuple[Block, list[Use] | None]] = deque()
        self.free: dict[tuple[StreamQueue, int], list[Block]] = {}
        self.guarded: list[tuple[Block, list[Use]]] = []  # freed, but recorded on other streams
        self.left: deque[BlockPool] = deque()  # pools without a graph, from destructors
        self.live: set[Block] = set()  # held by tensors, or freed and not yet collected
        self.reserved = 0
        self.in_use = 0
        self.peak = 0
        self.generation = 0
        self.fill: int | None = 0xCD
        self.looking: Callable[[], None] = lambda: None  # called when recycling depends on progress
        self.recycled: Callable[[Block], None] = lambda block: None  # a block is handed out again
        self.awaited: Callable[[Block], None] = lambda block: None  # recorded streams are past it

    def allocate(self, nbytes: int, stream: StreamQueue) -> Allocation:
        """A block of at least `nbytes` bytes, recycled where one of `stream`'s is free."""
        size = round_up(nbytes) if nbytes > ROUND else ROUND
        with self.lock:
            if self.returned and (block := self._just_returned(size, stream)) is not None:
                self.recycled(block)
                return Allocation(block, nbytes, self, False)
            if self.returned or self.left:
                self._collect()
            if self.guarded:
                self._release_guarded()
                if any(block.size == size for block, _ in self.guarded):
                    self.looking()
                    self._release_guarded()
            pool = stream.capture.pool if stream.capture is not None else None
            blocks = (self.free if pool is None else pool.free).get((stream, size))
            if blocks:
                self.recycled(blocks[-1])
                self._lend(size)
                self.live.add(blocks[-1])
                return Allocation(blocks.pop(), nbytes, self, False)
        memory = _memory(size, self.fill or 0)
        with self.lock:
            self.reserved += size
            self._lend(size)
            block = Block(memory, stream, self.generation)
            block.pool = pool
            self.live.add(block)
            return Allocation(block, nbytes, self, fresh=True)

    def _just_returned(self, size: int, stream: StreamQueue) -> Block | None:
        """The block freed last, if it is what `allocate` would find; it counts as lent all along.

        A short cut for ``h = h + 1`` in a loop.
        """
        if self.left or self.guarded or stream.capture is not None:
            return None
        block, uses = self.returned.pop()
        right = block.size == size and block.stream is stream and block.pool is None
        if right and uses is None and block.generation == self.generation:
            return block
        self.returned.append((block, uses))
        return None

    def _lend(self, size: int) -> None:
        self.in_use += size
        if self.in_use > self.peak:
            self.peak = self.in_use

    def _collect(self) -> None:
        """Put back what was freed, unless it was recorded on other streams."""
        while self.left:
            forgotten = self.left.popleft().free
            self.reserved -= sum(b.size for blocks in forgotten.values() for b in blocks)
            forgotten.clear()
        while self.returned:
            block, uses = self.returned.popleft()
            self.live.discard(block)
            if block.generation != self.generation:
                continue  # from before a reset
            self.in_use -= block.size
            if uses:
                self.guarded.append((block, uses))
            else:
                self._put(block)

    def _release_guarded(self) -> None:
        waiting, self.guarded = self.guarded, []
        for block, uses in waiting:
            if still_used(uses):
                self.guarded.append((block, uses))
            else:
                self.awaited(block)
                self._put(block)

    def _put(self, block: Block) -> None:
        free = self.free if block.pool is None else block.pool.free
        if block.pool is None or block.pool.graphs:
            free.setdefault((block.stream, block.size), []).append(block)
        else:
            self.reserved -= block.size

    def leave(self, pool: BlockPool) -> None:
        """One graph less uses a pool. A destructor may call it, so without the lock."""
        pool.graphs -= 1
        if not pool.graphs:
            self.left.append(pool)

    def empty_cache(self) -> None:
        """Forget the free blocks."""
        with self.lock:
            self._collect()
            self._release_guarded()
            self.reserved -= sum(b.size for blocks in self.free.values() for b in blocks)
            self.free.clear()

    def allocated(self) -> int:
        """Bytes in live tensors, rounded up to blocks."""
        with self.lock:
            self._collect()
            return self.in_use

    def find(self, address: int) -> Block | None:
        """The block that holds an address, whether a tensor has it or not."""
        with self.lock:
            free = (block for blocks in self.free.values() for block in blocks)
            guarded = (block for block, _ in self.guarded)
            for block in (*self.live, *free, *guarded):
                if 0 <= address - block.memory.data_ptr() < block.size:
                    return block
        return None

    def alive(self) -> list[Block]:
        """The blocks that live tensors hold, those from before a reset as well."""
        with self.lock:
            self._collect()
            return list(self.live)

    def reset(self) -> None:
        """Start as new; blocks that are still alive never come back here."""
        with self.lock:
            self._collect()
            self.free.clear()
            self.guarded.clear()
            self.reserved = self.in_use = self.peak = 0
            self.generation += 1


def _memory(size: int, byte: int) -> torch.Tensor:
    """Fresh bytes of the host's, which stand for the device's.

    Raises:
        OutOfMemoryError: torch's own, as of a GPU.
    """
    try:
        with torch.inference_mode(False):
            return torch.full((size,), byte, dtype=torch.uint8, device="cpu")
    except RuntimeError as error:
        raise torch.OutOfMemoryError(
            f"the simulated device is out of memory: tried to allocate {size:,} bytes"
        ) from error


def still_used(uses: Iterable[Use]) -> bool:
    """Whether any recorded use is not over yet."""
    return any(stream.completed < seq for stream, seq in uses)
