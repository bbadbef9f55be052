"""The line that used a buffer, as errors name it: not the buffer's own, nor torch's."""

from __future__ import annotations

import os

from pinlab.sim.place import Place, caller_frame, is_internal, place_of

HERE = os.path.dirname(__file__)
BUFFERS = tuple(os.path.join(HERE, name) for name in ("in_flight.py", "double_buffer.py"))


def caller() -> Place:
    """The nearest line outside torch, the simulated device and the buffers.

    >>> caller().lineno
    1
    """
    frame = caller_frame(2)
    while frame is not None and _is_plumbing(frame.f_code.co_filename):
        frame = frame.f_back
    return place_of(frame)


def _is_plumbing(filename: str) -> bool:
    return filename in BUFFERS or is_internal(filename)
