"""Memory that is mapped twice: the host's mapping can be protected while the device uses its own.

Both show the same pages of an anonymous file (``memfd_create(2)``), so a byte that the device
writes through one is what the host reads through the other. Linux only.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from typing import Any

import torch

from pinlab.sim.extent import Runs, merged
from pinlab.sim.pages import PAGE, Pages
from pinlab.sim.pinned import PinnedBlock

NONE, READ, WRITE = 0, mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
_MAP_FIXED = 0x10


def check_available() -> None:
    """Refuse where pages cannot be mapped twice and protected one by one.

    Raises:
        NotImplementedError: anywhere but on 64-bit Linux.
    """
    if sys.platform != "linux" or not hasattr(os, "memfd_create") or sys.maxsize < 2**32:
        raise NotImplementedError(
            "fence is not available here: it maps memory twice and protects pages, which is "
            f"written for 64-bit Linux (this is {sys.platform}); use hazards() or explore()"
        )


class FencedPages(Pages):
    """Pages with a second mapping, `mirror`.

    Args:
        size: bytes that can be used.
        shift: at which offset in its first page the memory begins; 0 is the usual place. Another
            one moves the border between two pages to where it tells two neighbours apart.
    """

    __slots__ = ("mirror", "shift")

    def __init__(self, size: int, shift: int = 0) -> None:
        self.size, self.shift, self.locked = size, shift, False
        whole = size + (PAGE if shift else 0)
        file = _anonymous_file(whole)
        self.mapping, self.mirror = mmap.mmap(file, whole), mmap.mmap(file, whole)
        os.close(file)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.mapping)) + shift

    def exporter(self) -> ctypes.Array[ctypes.c_uint8]:
        return (ctypes.c_uint8 * self.size).from_buffer(self.mapping, self.shift)


class FencedBlock(PinnedBlock):
    """A pinned block that is mapped twice; `memory`, the device's view, is the second mapping."""

    __slots__ = ()

    def __init__(self, size: int, shift: int = 0) -> None:
        pages = FencedPages(size, shift)
        super().__init__(pages, _view(pages.mirror, size, shift))


def map_twice(block: PinnedBlock) -> None:
    """Give a block that is in use a second mapping; what it holds stays, at the same address."""
    size, address = block.pages.size, block.pages.address
    file = _anonymous_file(size)
    mirror = mmap.mmap(file, size)
    mirror[:] = ctypes.string_at(address, size)
    both = mmap.MAP_SHARED | _MAP_FIXED
    got = _libc().mmap(address, size, WRITE, both, file, 0)
    os.close(file)
    if got != address:
        raise OSError(ctypes.get_errno(), f"could not map {size} bytes of pinned memory again")
    block.show(_view(mirror, size, 0))


def protect(ranges: Runs, allowed: int) -> None:
    """Set what the host may do with whole pages: `NONE`, `READ` or `WRITE`."""
    for start, stop in ranges:
        if _libc().mprotect(start, stop - start, allowed):
            raise OSError(ctypes.get_errno(), f"could not protect {stop - start} bytes")


def whole_pages(runs: Runs) -> Runs:
    """The pages that hold any of these bytes.

    >>> whole_pages(((PAGE + 5, PAGE + 9),)) == ((PAGE, 2 * PAGE),)
    True
    """
    return merged((start // PAGE * PAGE, -(-stop // PAGE) * PAGE) for start, stop in runs)


def _anonymous_file(size: int) -> int:
    file = os.memfd_create("pinlab-fence")
    os.ftruncate(file, size)
    return file


def _view(mapping: mmap.mmap, size: int, shift: int) -> torch.Tensor:
    return torch.frombuffer(mapping, dtype=torch.uint8, count=size, offset=shift)


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    word, size = ctypes.c_void_p, ctypes.c_size_t
    libc.mmap.restype = word
    libc.mmap.argtypes = [word, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [word, size, ctypes.c_int]
    return libc
