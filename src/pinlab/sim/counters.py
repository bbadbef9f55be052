"""What the operating system counts: locked memory, the limit on it, page faults.

These numbers come from outside the simulator, so they show what page locking really does here.
They are Linux's; where one cannot be read, the reading says why instead of a number.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from pinlab.sim.state import host_memory

STATUS = Path("/proc/self/status")
COMPACTION = Path("/proc/sys/vm/compact_unevictable_allowed")


@dataclass(frozen=True)
class Reading:
    """A counter's value, or the reason why there is none.

    The difference of two readings is a reading; it has a value only if both have one.

    >>> Reading(4096, "bytes") - Reading(1024, "bytes")
    3,072 bytes
    >>> Reading(None, "bytes", "no /proc here") - Reading(1024, "bytes")
    not readable (no /proc here)
    """

    value: int | None
    unit: str
    reason: str = ""

    def __sub__(self, earlier: Reading) -> Reading:
        if self.unit != earlier.unit:
            raise ValueError(f"cannot take {earlier.unit} from {self.unit}")
        if self.value is None or earlier.value is None:
            return Reading(None, self.unit, self.reason or earlier.reason)
        return Reading(self.value - earlier.value, self.unit)

    def __repr__(self) -> str:
        if self.value is None:
            return f"not readable ({self.reason})"
        return f"{self.value:,} {self.unit}"

    __str__ = __repr__


def locked_bytes() -> Reading:
    """Bytes that this process has locked in memory: ``VmLck`` of ``/proc/self/status``.

    Linux only, by proc_pid_status(5). Memory that a GPU driver holds in place by itself is not
    in this number.
    """
    try:
        status = STATUS.read_text()
    except OSError as error:
        return Reading(None, "bytes", _why(STATUS, error))
    found = re.search(r"^VmLck:\s*(\d+) kB$", status, re.MULTILINE)
    if found is None:
        return Reading(None, "bytes", f"no VmLck in {STATUS}")
    return Reading(int(found[1]) * 1024, "bytes")


def lock_limit() -> Reading:
    """How many bytes this process may lock (``ulimit -l``); the reason says so if there is no end.

    On Linux a process with CAP_IPC_LOCK (root, as a rule) is not held to the limit: mlock(2).
    """
    try:
        import resource
    except ModuleNotFoundError:
        return Reading(None, "bytes", f"no such limit on {sys.platform}")
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY:
        return Reading(None, "bytes", "unlimited")
    return Reading(soft, "bytes")


def minor_faults() -> Reading:
    """Page faults of this process, all threads, that needed no disk: ``ru_minflt``, getrusage(2).

    One is counted when a page of a mapping gets its memory: at the first touch, or at locking.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return Reading(None, "page faults", f"not counted on {sys.platform}")
    return Reading(resource.getrusage(resource.RUSAGE_SELF).ru_minflt, "page faults")


def locked_pages_may_move() -> bool | None:
    """Whether this Linux kernel may move locked pages to other places in memory; None: not known.

    ``vm.compact_unevictable_allowed``, in the kernel's documentation of ``/proc/sys/vm``.
    """
    try:
        return COMPACTION.read_text().strip() == "1"
    except OSError:
        return None


def is_locked(tensor: torch.Tensor) -> bool:
    """Whether the operating system agreed to lock the pages under a pinned tensor of ``sim``.

    False for memory of other origin, CUDA's pinned memory included: that is not locked with mlock.

    >>> from pinlab import sim
    >>> sim.install()
    >>> is_locked(torch.zeros(4))
    False
    """
    if tensor.device.type != "cpu":
        return False
    block = host_memory.find(tensor.untyped_storage().data_ptr())
    return block is not None and block.pages.locked


def _why(path: Path, error: OSError) -> str:
    return f"{path} on {sys.platform}: {error.strerror or error}"
