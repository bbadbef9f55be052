"""The line that the host runs now."""

from __future__ import annotations

import os
import sysconfig
from types import FrameType

import numpy as np

from pinlab.sim import Place
from pinlab.sim.place import caller_frame, is_internal, place_of

_NUMPY = os.path.dirname(np.__file__) + os.sep
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)


def host_line() -> Place:
    """The line that runs now: not torch's, not this tool's, not numpy's."""
    return user_line(caller_frame(2))


def user_line(frame: FrameType | None) -> Place:
    """The line at which the user's own code stands, at or below a frame."""
    return place_of(user_frame(frame))


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame, from `frame` outwards, that runs the user's own code."""
    while frame is not None and _is_passed_over(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_passed_over(filename: str) -> bool:
    """Torch, this tool, numpy and the standard library work for the line that called them."""
    if filename.startswith(_STANDARD) and not filename.startswith(_PACKAGES):
        return True
    return filename.startswith(_NUMPY) or is_internal(filename)
