"""The calls of the CUDA driver API that holding a stream needs, through ctypes.

From NVIDIA's *CUDA Driver API* reference (docs.nvidia.com/cuda/cuda-driver-api, read in November
2026; chapters "Stream Memory Operations", "Memory Management", "Execution Control"):

- ``cuStreamWaitValue32``: work queued behind it waits until ``(int32_t)(*addr - value) >= 0`` (the
  default condition, ``CU_STREAM_WAIT_VALUE_GEQ``). The address is a device address; for host memory
  ``cuMemHostGetDevicePointer`` gives it. Managed memory is not accepted.
- Its second version (``…_v2`` in the library; the reference of CUDA 11.8 describes both) is there
  by default on all platforms. The first one is disabled by default:
  ``CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1`` says whether it can be used.
- CUDA does not see the order that such a wait makes, so streams that share a hardware queue may be
  serialised behind it.
- ``cuLaunchHostFunc``: a host function in stream order, which must call no CUDA function. Host
  functions of other streams may be serialised behind it.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

WAIT_VALUE_GEQ = 0  # CU_STREAM_WAIT_VALUE_GEQ
CAN_USE_STREAM_MEM_OPS_V1 = 92  # CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1
NOT_SUPPORTED = 801  # CUDA_ERROR_NOT_SUPPORTED


class DriverError(RuntimeError):
    """A driver call returned an error; ``code`` is the ``CUresult``."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call} returned {code} ({name})")
        self.code = code


def library_name() -> str:
    """The driver library's file name on this system."""
    return "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def load_library() -> Any:
    """The driver library, or None where there is none."""
    try:
        return ctypes.CDLL(library_name())
    except OSError:
        return None


class Driver:
    """The driver library with its results checked.

    Arguments go as explicit C types: a Python integer alone would be cut to 32 bits.

    Args:
        library: the loaded library, or an object with functions of the same names.
    """

    def __init__(self, library: Any) -> None:
        self.library = library

    def has(self, name: str) -> bool:
        """Whether the library has a function of this name."""
        return getattr(self.library, name, None) is not None

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; `DriverError` unless it returns 0."""
        code = int(getattr(self.library, name)(*arguments))
        if code != 0:
            raise DriverError(name, code, self._error_name(code))

    def _error_name(self, code: int) -> str:
        text = ctypes.c_char_p()
        if not self.has("cuGetErrorName"):
            return "no name known"
        self.library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
        return (text.value or b"unknown error").decode()

    def attribute(self, number: int, index: int) -> int:
        """The value of a ``CUdevice_attribute`` of device `index`."""
        value = ctypes.c_int()
        self.call(
            "cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self._device(index)
        )
        return value.value

    def _device(self, index: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
        return device

    def ensure_context(self, index: int) -> None:
        """Make the device's primary context, which torch uses, current on this thread."""
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        if not context.value:
            retain = "cuDevicePrimaryCtxRetain"
            self.call(retain, ctypes.byref(context), self._device(index))
            self.call("cuCtxSetCurrent", context)

    def device_address(self, host_address: int) -> int:
        """The device's address of pinned host memory."""
        address = ctypes.c_uint64()
        self.call(
            "cuMemHostGetDevicePointer_v2",
            ctypes.byref(address),
            ctypes.c_void_p(host_address),
            ctypes.c_uint(0),
        )
        return address.value

    def waiting_call(self, index: int) -> str | None:
        """The name of the stream wait that device `index` can use, or None."""
        if self.has("cuStreamWaitValue32_v2"):
            return "cuStreamWaitValue32_v2"
        if self.has("cuStreamWaitValue32") and self.attribute(CAN_USE_STREAM_MEM_OPS_V1, index):
            return "cuStreamWaitValue32"
        return None

    def wait_for_value(self, name: str, stream: int, address: int, value: int) -> None:
        """Queue a wait for ``*address >= value`` on `stream` (its handle)."""
        self.call(
            name,
            ctypes.c_void_p(stream),
            ctypes.c_uint64(address),
            ctypes.c_uint32(value),
            ctypes.c_uint(WAIT_VALUE_GEQ),
        )

    def launch_host_function(self, stream: int, function: int, data: int) -> None:
        """Queue a call of the C function at address `function` with `data` on `stream`."""
        self.call(
            "cuLaunchHostFunc",
            ctypes.c_void_p(stream),
            ctypes.c_void_p(function),
            ctypes.c_void_p(data),
        )
