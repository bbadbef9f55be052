"""Finds PyOpenCL and PoCL, which are optional, or says how to get them."""

from __future__ import annotations

import functools
import importlib
from typing import Any

PLATFORM = "Portable Computing Language"  # PoCL's name for itself
INSTALL = (
    'the extra brings both: python -m pip install -e ".[opencl]" (Linux on x86-64; elsewhere '
    "install PyOpenCL and PoCL by the ways that they name)"
)


class OpenCLMissingError(ImportError):
    """PyOpenCL, or PoCL behind it, is not installed; the message says how to get it."""


def library() -> Any:
    """The module ``pyopencl``.

    Raises:
        OpenCLMissingError: if it cannot be imported.
    """
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        raise OpenCLMissingError(f"PyOpenCL cannot be imported ({error}); {INSTALL}") from error


@functools.cache
def find_context() -> Any:
    """A context on PoCL's first device with threads of its own, made once in a process.

    Raises:
        OpenCLMissingError: without PyOpenCL, or if PoCL is not among its platforms, or has no such
            device: its driver "basic" runs commands in the caller's thread, and would wait there
            for ever for a gate that this thread was going to open.
    """
    cl = library()
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:  # the loader answers so if no platform is registered at all
        raise OpenCLMissingError(f"OpenCL finds no platform ({error}); {INSTALL}") from error
    names = [platform.name for platform in platforms]
    if PLATFORM not in names:
        found = ", ".join(names) or "none"
        raise OpenCLMissingError(f"OpenCL's platforms are: {found}; PoCL is not there; {INSTALL}")
    devices = platforms[names.index(PLATFORM)].get_devices()
    threaded = [device for device in devices if not device.name.startswith("basic")]
    if not threaded:
        found = ", ".join(device.name for device in devices) or "none"
        raise OpenCLMissingError(
            f"PoCL's devices are: {found}; one that runs commands in threads of its own is "
            "needed (unset POCL_DEVICES)"
        )
    return cl.Context(threaded[:1])


def versions() -> dict[str, str]:
    """What runs here, in words: PyOpenCL, PoCL, and the device with its driver.

    Raises:
        OpenCLMissingError: as `find_context`.
    """
    device = find_context().devices[0]
    return {
        "pyopencl": library().VERSION_TEXT,
        "platform": f"{device.platform.name}, {device.platform.version}".strip(),
        "device": device.name.strip(),
        "driver": device.driver_version,
        "compute units": str(device.max_compute_units),
    }
