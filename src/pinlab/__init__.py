"""pinlab: pinned memory, asynchronous copies, and the race between them.

Importing this package changes nothing: the simulated device is registered by
``pinlab.device.pick_device()`` (or ``pinlab.sim.install()``), and by nothing else.

>>> import pinlab
>>> pinlab.__version__.count(".") >= 2
True
"""

from __future__ import annotations

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
