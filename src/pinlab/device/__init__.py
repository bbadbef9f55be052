"""The same words on the simulated and on a real GPU: `pick_device` and `hold`.

Lessons take everything else from torch: ``gpu = torch.get_device_module(device)`` is `torch.cuda`
on one machine and `torch.sim` on the other.

>>> import torch
>>> from pinlab.device import hold, pick_device
>>> device = pick_device()
>>> there = torch.zeros(3, dtype=torch.int64, device=device)
>>> row = torch.tensor([5, 7, 9], pin_memory=True)
>>> with hold(warmup=lambda: there.copy_(row, non_blocking=True)):
...     _ = there.copy_(row, non_blocking=True)  # returns at once: the stream is held
...     row[1] = 40
>>> there.tolist()
[5, 40, 9]
"""

from __future__ import annotations

from pinlab.device.hold import Gate, hold
from pinlab.device.pick import pick_device

__all__ = ["Gate", "hold", "pick_device"]
