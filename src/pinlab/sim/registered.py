"""Pinning memory that exists already: shared memory, a mapped file, an arena of one's own.

What ``cudaHostRegister`` does. The memory is pinned from then on: `is_pinned()` is true, copies
from and to it are asynchronous, kernels reach it. The caching host allocator does not own it and
hears of no copy: who unregisters or reuses it while a copy is queued must know what he does.
"""

from __future__ import annotations

import torch

from pinlab.sim.errors import SimError
from pinlab.sim.pages import Pages, lock_pages, say_once, unlock_pages
from pinlab.sim.pinned import PinnedBlock
from pinlab.sim.place import caller_place
from pinlab.sim.platform import current_platform
from pinlab.sim.quiet import quiet
from pinlab.sim.state import accelerator, host_memory
from pinlab.sim.uva import described


class RegisteredPages(Pages):
    """Pages of somebody else's, locked where allowed. Locking works by whole pages."""

    __slots__ = ()

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self.locked = lock_pages(address, size)
        if not self.locked:
            say_once(size)


class Registration(PinnedBlock):
    """Registered memory; a context that unregisters it at its end. It keeps the memory alive."""

    __slots__ = ()
    managed = False

    def __init__(self, tensor: torch.Tensor, nbytes: int) -> None:
        pages = RegisteredPages(tensor.data_ptr(), nbytes)
        storage = tensor.untyped_storage()
        with quiet():
            empty = torch.empty(0, dtype=torch.uint8)
            offset = tensor.data_ptr() - storage.data_ptr()
            memory = empty.set_(storage, offset, (nbytes,))  # type: ignore[call-overload]
        super().__init__(pages, memory)
        self.place = caller_place()

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        host_unregister(self)

    def __repr__(self) -> str:
        return f"<registered memory, {self.pages.size} bytes, registered at {self.place}>"


def host_register(tensor: torch.Tensor) -> Registration:
    """Pin the memory of a CPU tensor that exists already.

    Args:
        tensor: contiguous, with at least one byte; ``torch.from_numpy``, ``torch.frombuffer`` over
            ``multiprocessing.shared_memory``, ``tensor.share_memory_()`` will do.

    Returns:
        The registration. It ends with `host_unregister`, or with its ``with`` block.

    Raises:
        ValueError: not contiguous, empty, or registered or pinned already, in part or whole.
        TypeError: no CPU tensor.
        SimError: on a platform without pinning.

    >>> from pinlab import sim
    >>> sim.install()
    >>> arena = torch.zeros(4).share_memory_()
    >>> with sim.host_register(arena):
    ...     arena.is_pinned(), arena[2:].is_pinned()
    (True, True)
    >>> arena.is_pinned()
    False
    """
    accelerator().check_process()
    if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cpu":
        raise TypeError(f"host_register takes a CPU tensor, not {described(tensor)}")
    if not current_platform().pinning:
        raise SimError("host_register: this platform cannot pin memory")
    nbytes = tensor.numel() * tensor.element_size()
    if not nbytes or not tensor.is_contiguous():
        raise ValueError(f"host_register needs contiguous bytes; this is {described(tensor)}")
    first, end = tensor.data_ptr(), tensor.data_ptr() + nbytes
    with host_memory.lock:
        for block in host_memory.known[1]:
            start = block.pages.address
            if first < start + block.pages.size and start < end:
                raise ValueError(f"host_register: the memory is pinned already ({block!r})")
        registration = Registration(tensor, nbytes)
        host_memory.know(registration)
    return registration


def host_unregister(what: torch.Tensor | Registration) -> None:
    """End a registration, given the tensor that was registered or what `host_register` returned.

    Work that is queued on the memory goes on as it was queued.

    Raises:
        ValueError: if it is not registered.
    """
    address = what.data_ptr() if isinstance(what, torch.Tensor) else what.pages.address
    with host_memory.lock:
        block = host_memory.find(address)
        if not isinstance(block, Registration) or block.pages.address != address:
            raise ValueError(f"host_unregister: nothing was registered at {address:#x}")
        host_memory.forget(block)
        if block.pages.locked:
            unlock_pages(address, block.pages.size)
