"""Page-locked memory from the operating system: an anonymous mapping, locked where allowed."""

from __future__ import annotations

import ctypes
import mmap
import sys

PAGE = mmap.PAGESIZE


class Pages:
    """A private, page-aligned mapping of `size` bytes.

    ``locked`` says whether the operating system agreed to keep it in memory (``mlock``; the limit
    is ``ulimit -l``). Where it did not, the mapping works the same; only ``VmLck`` does not move.
    """

    __slots__ = ("address", "locked", "mapping", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        if sys.platform == "win32":
            self.mapping = mmap.mmap(-1, size)
        else:
            self.mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.mapping))
        self.locked = _lock(self.address, size)

    def exporter(self) -> ctypes.Array[ctypes.c_uint8]:
        """A fresh buffer object over all the bytes; weak references can watch for its end."""
        return (ctypes.c_uint8 * self.size).from_buffer(self.mapping)


def _lock(address: int, size: int) -> bool:
    try:
        if sys.platform == "win32":
            return bool(ctypes.windll.kernel32.VirtualLock(ctypes.c_void_p(address), size))
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) == 0)
    except (OSError, AttributeError):
        return False
