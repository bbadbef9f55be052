"""Every test of the device begins and ends with an empty one."""

from tests.fresh_device import fresh_device

__all__ = ["fresh_device"]
