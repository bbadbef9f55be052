"""The one device of this process and its two allocators."""

from __future__ import annotations

from pinlab.sim.accelerator import Accelerator
from pinlab.sim.blocks import DeviceAllocator
from pinlab.sim.errors import SimError
from pinlab.sim.modes import Threaded
from pinlab.sim.pinned import PinnedAllocator
from pinlab.sim.shapes import ShapeCache

_accelerator: Accelerator | None = None
device_memory = DeviceAllocator()
host_memory = PinnedAllocator()
shape_cache = ShapeCache()


def start() -> Accelerator:
    """Make the device, once."""
    global _accelerator
    if _accelerator is None:
        _accelerator = device = Accelerator(Threaded())
        device_memory.looking = host_memory.looking = lambda: device.mode.observed(device)
    return _accelerator


def accelerator() -> Accelerator:
    """The device.

    Raises:
        SimError: before `pinlab.sim.install`.
    """
    if _accelerator is None:
        raise SimError("the simulated device is not installed: call pinlab.sim.install() first")
    return _accelerator


def is_started() -> bool:
    """Whether the device was made."""
    return _accelerator is not None
