"""A simulated accelerator: a torch device named ``sim``, in plain Python.

>>> import torch
>>> from pinlab import sim
>>> sim.install()
>>> row = torch.tensor([5, 7, 9], pin_memory=True)
>>> with sim.mode("lazy"):
...     lens = row.to("sim", non_blocking=True)  # queued, not yet done
...     row[1] = 40                              # the host goes on
...     print(lens.tolist())                     # now somebody waits
[5, 40, 9]
"""

from __future__ import annotations

from pinlab.sim.backend import install
from pinlab.sim.control import fill, installed, link, mode, pending, step
from pinlab.sim.errors import (
    CaptureError,
    DeviceMismatchError,
    ForkedProcessError,
    HeldStreamError,
    IllegalAddressError,
    QueuedOperationError,
    SimError,
)
from pinlab.sim.graph import CUDAGraph
from pinlab.sim.hold import hold
from pinlab.sim.lifecycle import reset
from pinlab.sim.link import Link
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place
from pinlab.sim.platform import Platform, platform
from pinlab.sim.raw_copy import memcpy_async
from pinlab.sim.recorder import HostEvent, Recording, record
from pinlab.sim.registered import Registration, host_register, host_unregister
from pinlab.sim.streams import Event, Stream
from pinlab.sim.tensor import SimTensor
from pinlab.sim.uva import uva_view
from pinlab.sim.zero_copy import kernel

__all__ = [
    "CUDAGraph",
    "CaptureError",
    "DeviceMismatchError",
    "Event",
    "ForkedProcessError",
    "HeldStreamError",
    "HostEvent",
    "IllegalAddressError",
    "Link",
    "Operation",
    "Place",
    "Platform",
    "QueuedOperationError",
    "Recording",
    "Registration",
    "SimError",
    "SimTensor",
    "Stream",
    "fill",
    "hold",
    "host_register",
    "host_unregister",
    "install",
    "installed",
    "kernel",
    "link",
    "memcpy_async",
    "mode",
    "pending",
    "platform",
    "record",
    "reset",
    "step",
    "uva_view",
]
