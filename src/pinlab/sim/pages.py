"""Page-locked memory from the operating system: an anonymous mapping, locked where allowed."""

from __future__ import annotations

import ctypes
import mmap
import sys
import warnings

from pinlab.sim.place import caller_place

PAGE = mmap.PAGESIZE
_said: list[int] = []  # sizes that could not be locked, once that was said


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
        self.locked = lock_pages(self.address, size)
        if not self.locked:
            say_once(size)

    def exporter(self) -> ctypes.Array[ctypes.c_uint8]:
        """A fresh buffer object over all the bytes; weak references can watch for its end."""
        return (ctypes.c_uint8 * self.size).from_buffer(self.mapping)


def say_once(size: int) -> None:
    """Warn, the first time in this process, that pages could not be locked."""
    _said.append(size)
    if len(_said) == 1:
        place = caller_place()
        message = (
            f"the operating system refused to lock {size:,} bytes in memory (see `ulimit -l`); "
            "pinned memory works here all the same, only VmLck does not move. Said once."
        )
        warnings.warn_explicit(message, RuntimeWarning, place.filename, place.lineno)


def lock_pages(address: int, size: int) -> bool:
    """Keep the pages of some bytes in memory; whether the operating system agreed."""
    try:
        if sys.platform == "win32":
            return bool(ctypes.windll.kernel32.VirtualLock(ctypes.c_void_p(address), size))
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) == 0)
    except (OSError, AttributeError):
        return False


def unlock_pages(address: int, size: int) -> None:
    """Undo `lock_pages`; it does not count how often a page was locked."""
    try:
        if sys.platform == "win32":
            ctypes.windll.kernel32.VirtualUnlock(ctypes.c_void_p(address), size)
        else:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.munlock(ctypes.c_void_p(address), ctypes.c_size_t(size))
    except (OSError, AttributeError):
        pass  # then they stay locked
