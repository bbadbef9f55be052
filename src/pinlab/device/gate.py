"""Gates in a CUDA stream: closed when queued, opened by the host.

Two ways, the first one that the device offers:

flag       the stream waits for a word of pinned memory, which the host writes
semaphore  the stream calls the C library's ``sem_wait``, and the host ``sem_post``: no Python runs
           on the driver's thread, so the interpreter's lock plays no part
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from pinlab.device.driver import NOT_SUPPORTED, Driver, DriverError
from pinlab.sim.place import Place

FLAGS = 64  # gates that may be closed at the same time
SEMAPHORE_BYTES = 128  # more than sem_t has anywhere


class CudaGate:
    """One closed gate. ``released`` says whether it was opened, ``method`` how it works."""

    def __init__(self, method: str, place: Place, open_: Callable[[], None]) -> None:
        self.method = method
        self.place = place
        self.released = False
        self._open = open_
        self._lock = threading.Lock()

    def release(self) -> bool:
        """Open it; whether this call did."""
        with self._lock:
            if self.released:
                return False
            self._open()
            self.released = True
            return True

    def __repr__(self) -> str:
        state = "released" if self.released else "closed"
        return f"<hold by {self.method}, {self.place}, {state}>"


class Gatekeeper:
    """Closes gates in the streams of one CUDA device.

    Args:
        driver: the driver library.
        index: the device's number.
        page: pinned memory for the flags, int32, made before the first hold: getting pinned memory
            may wait for the device.
        passed: called with a stream after a gate was queued on it; returns a function that tells
            whether the stream is past the gate. Until then the gate's memory must stay.
    """

    def __init__(
        self,
        driver: Driver,
        index: int,
        page: torch.Tensor,
        passed: Callable[[Any], Callable[[], bool]],
    ) -> None:
        self.driver = driver
        self.index = index
        self.page = page
        self.passed = passed
        self.lock = threading.Lock()
        self.free = list(range(page.numel()))
        self.used: list[tuple[Any, Callable[[], bool]]] = []  # a flag's number or a semaphore
        driver.ensure_context(index)
        self.waiting_call = driver.waiting_call(index)

    def close(self, stream: Any, place: Place) -> CudaGate:
        """Queue a closed gate on `stream`.

        Raises:
            RuntimeError: if neither way is there, or too many gates are closed.
        """
        with self.lock:
            self._collect()
            self.driver.ensure_context(self.index)
            if self.waiting_call is not None:
                try:
                    return self._close_by_flag(self.waiting_call, stream, place)
                except DriverError as error:
                    if error.code != NOT_SUPPORTED:
                        raise
                    self.waiting_call = None
            return self._close_by_semaphore(stream, place)

    def _collect(self) -> None:
        """Take back the flags of gates that their streams have passed."""
        waiting = []
        for memory, passed in self.used:
            if not passed():
                waiting.append((memory, passed))
            elif isinstance(memory, int):
                self.free.append(memory)
        self.used = waiting

    def _close_by_flag(self, call: str, stream: Any, place: Place) -> CudaGate:
        if not self.free:
            raise RuntimeError(f"{self.page.numel()} streams are held; release one first")
        number = self.free[-1]
        address = self.page.data_ptr() + 4 * number
        flag = ctypes.c_int32.from_address(address)
        flag.value = 0
        device_address = self.driver.device_address(address)
        self.driver.wait_for_value(call, stream.cuda_stream, device_address, 1)
        self.free.pop()
        self.used.append((number, self.passed(stream)))
        return CudaGate(f"a flag in pinned memory ({call})", place, lambda: _set(flag))

    def _close_by_semaphore(self, stream: Any, place: Place) -> CudaGate:
        if sys.platform == "win32" or not self.driver.has("cuLaunchHostFunc"):
            raise RuntimeError(
                "cannot hold a stream here: the driver offers no cuStreamWaitValue32 for this "
                "device, and the fallback needs cuLaunchHostFunc and POSIX semaphores"
            )
        library = ctypes.CDLL(None, use_errno=True)
        semaphore = ctypes.create_string_buffer(SEMAPHORE_BYTES)
        if library.sem_init(semaphore, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "sem_init failed")
        function = ctypes.cast(library.sem_wait, ctypes.c_void_p).value
        assert function is not None
        self.driver.launch_host_function(stream.cuda_stream, function, ctypes.addressof(semaphore))
        self.used.append((semaphore, self.passed(stream)))
        method = "a host function that waits for a semaphore (cuLaunchHostFunc)"
        return CudaGate(method, place, lambda: library.sem_post(semaphore))


def _set(flag: ctypes.c_int32) -> None:
    flag.value = 1
