"""What every device must do: the copy table, order, events, lifetimes, as device-neutral checks.

``python -m pinlab.device.conformance`` runs them on the device that ``PINLAB_DEVICE`` names. The
tests and ``tools/gpu_check.py`` run the same ones. Facts about PyTorch and CUDA are cited in the
modules.

>>> from pinlab.device import pick_device
>>> from pinlab.device.conformance import CHECKS, run
>>> run(CHECKS["pinned_upload_non_blocking_reads_late"], pick_device()).passed
True
"""

from __future__ import annotations

from pinlab.device.conformance import downloads, layouts, lifetime, ordering, uploads
from pinlab.device.conformance.check import CHECKS, Check, Mismatch, Result, run

__all__ = [
    "CHECKS",
    "Check",
    "Mismatch",
    "Result",
    "downloads",
    "layouts",
    "lifetime",
    "ordering",
    "run",
    "uploads",
]
