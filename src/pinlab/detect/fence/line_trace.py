"""Hears when a line is over, and when one begins; both without slowing down other lines.

Tracing keeps the variables of a traced frame alive a little longer (before Python 3.13). So it is
switched on as late as possible, and off as soon as the line is over.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pinlab.detect.fence.plan import Line
from pinlab.sim import Place
from pinlab.sim.place import place_of

Trace = Callable[[FrameType, str, Any], Any]


def watch_line(frame: FrameType, over: Callable[[], None]) -> None:
    """Call `over` when the line at which a frame of this thread stands has ended."""
    outer, outer_local = sys.gettrace(), frame.f_trace

    def within(where: FrameType, event: str, arg: Any) -> Trace | None:
        if event not in ("line", "return"):
            return within
        over()
        where.f_trace = outer_local
        sys.settrace(outer)
        return None

    frame.f_trace = within
    sys.settrace(_nothing)


def before_lines(
    lines: set[Line], begins: Callable[[Place], None], over: Callable[[], None]
) -> None:
    """Call `begins` before, and `over` after, each of these lines, from now on."""
    files = {file for file, _ in lines}

    def called(frame: FrameType, event: str, arg: Any) -> Trace | None:
        return within if frame.f_code.co_filename in files else None

    def within(frame: FrameType, event: str, arg: Any) -> Trace:
        if event in ("line", "return"):
            over()
        if event == "line" and (frame.f_code.co_filename, frame.f_lineno) in lines:
            begins(place_of(frame))
        return within

    if lines:
        threading.settrace(called)
        sys.settrace(called)


def _nothing(frame: FrameType, event: str, arg: Any) -> None:
    """Traces no frame that begins meanwhile."""
