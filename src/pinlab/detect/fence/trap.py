"""What happens when the host touches a protected page: a handler for SIGSEGV, in Python.

The signal is synchronous: it strikes at the one instruction that touched the page, on the thread
that ran it, and the Python frame below the handler's is the one that ran that instruction. Where
the handler opens the page and returns, the instruction is run again.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

# address, whether it was a write (None: this processor does not say), the Python frame -> go on?
Fault = Callable[[int, "bool | None", "FrameType | None"], bool]

_ADDRESS = 16  # si_addr in siginfo_t, 64-bit Linux (sigaction(2))
_ERROR = 192  # gregs[REG_ERR] in ucontext_t, x86-64 (sys/ucontext.h); bit 1 is set for a write
_SIGINFO = 4
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """``struct sigaction`` of Linux."""

    _fields_ = (
        ("handler", _Handler),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_kept: list[Any] = []  # a handler must outlive the process's last fault


def catch_faults(heard: Fault) -> None:
    """Call `heard` for each fault of this process; if it says no, the process dies of the signal.

    Not undone: for a process that lives for one run.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    knows_writes = platform.machine() == "x86_64"

    def handler(number: int, info: int, context: int) -> None:
        collecting = gc.isenabled()
        gc.disable()  # no finalizer of somebody's in here
        address = ctypes.c_uint64.from_address(info + _ADDRESS).value
        error = ctypes.c_uint64.from_address(context + _ERROR).value if knows_writes else 0
        frame = sys._getframe().f_back
        try:
            go_on = heard(address, bool(error & 2) if knows_writes else None, frame)
        except BaseException:  # returning would run into the same fault again, for ever
            traceback.print_exc(file=sys.__stderr__)
            go_on = False
        if not go_on:
            faulthandler.dump_traceback(2)
            libc.signal(signal.SIGSEGV, 0)  # the default; the instruction is run again
        if collecting:
            gc.enable()

    action = _Action(_Handler(handler), (ctypes.c_ulong * 16)(), _SIGINFO, None)
    _kept.append(action)
    if libc.sigaction(signal.SIGSEGV, ctypes.byref(action), None):
        raise OSError(ctypes.get_errno(), "could not set a handler for SIGSEGV")
