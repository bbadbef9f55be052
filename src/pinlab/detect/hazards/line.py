"""The line that the host runs now."""

from __future__ import annotations

import os

import numpy as np

from pinlab.sim import Place
from pinlab.sim.place import caller_frame, place_of

_NUMPY = os.path.dirname(np.__file__) + os.sep


def host_line() -> Place:
    """The line that runs now: not torch's, not this tool's, not numpy's."""
    frame = caller_frame(2)
    while frame is not None and frame.f_code.co_filename.startswith(_NUMPY):
        frame = frame.f_back
    return place_of(frame)
