"""The line that the host runs now."""

from __future__ import annotations

import os
from types import FrameType

import numpy as np

from pinlab.sim import Place
from pinlab.sim.place import caller_frame, is_internal, place_of

_NUMPY = os.path.dirname(np.__file__) + os.sep


def host_line() -> Place:
    """The line that runs now: not torch's, not this tool's, not numpy's."""
    return user_line(caller_frame(2))


def user_line(frame: FrameType | None) -> Place:
    """The line at which the user's own code stands, at or below a frame."""
    while frame is not None and (
        frame.f_code.co_filename.startswith(_NUMPY) or is_internal(frame.f_code.co_filename)
    ):
        frame = frame.f_back
    return place_of(frame)
