"""Following the host line by line: a callback after each line of the user's own code.

It stands on `sys.settrace`, for the calling thread only. A tracer that is a Python function (a
debugger's, the schedule explorer's, an outer recording's) is called as well; one that is written in
C (coverage's) pauses, and goes on where the block ends.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType, FunctionType, MethodType
from typing import Any

from pinlab.sim.place import Place, caller_frame, is_internal, place_of

Tracer = Callable[[FrameType, str, Any], Any]

_PINLAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


@functools.cache
def is_users(filename: str) -> bool:
    """Whether a file is the user's code: not torch, not this device, not another library.

    >>> is_users(os.__file__), is_users("engine.py")
    (False, True)
    """
    if is_internal(filename):
        return False
    return filename.startswith(_PINLAB) or not filename.startswith(_LIBRARIES)


class HostLines:
    """Calls `after()` when a line of the user's code has run; `place` is the line that runs now.

    A line that calls a function counts as several: up to the call, each line inside, and the rest.
    """

    def __init__(self, after: Callable[[], None]) -> None:
        self.after = after
        self.place = Place("<unknown>", 0)
        self.active = False
        self.frame: FrameType | None = None
        self.outer: Any = None
        self.outer_local: Any = None
        self.chained = False

    def start(self, frame: FrameType | None) -> None:
        """Begin in `frame`, which is running already, and in every frame that starts from now."""
        self.frame = frame
        self.outer = sys.gettrace()
        self.outer_local = frame.f_trace if frame is not None else None
        self.chained = isinstance(self.outer, (FunctionType, MethodType))
        self.place = place_of(frame)
        self.active = True
        if frame is not None:
            frame.f_trace = self._local(self.outer_local if self.chained else None)
        sys.settrace(self._call)

    def stop(self) -> None:
        """Put the previous tracer back, unless somebody has set another one meanwhile."""
        self.active = False
        if sys.gettrace() == self._call:
            sys.settrace(self.outer)
        if self.frame is not None:
            self.frame.f_trace = self.outer_local
        self.frame = self.outer = self.outer_local = None  # a frame keeps its variables alive

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        theirs = self.outer(frame, event, arg) if self.chained and self.outer else None
        if not self.active or not is_users(frame.f_code.co_filename):
            return theirs
        self.after()
        self.place = place_of(frame)
        return self._local(theirs)

    def _local(self, theirs: Tracer | None) -> Tracer:
        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal theirs
            if self.active:
                self._event(frame, event)
            if theirs is not None:
                theirs = theirs(frame, event, arg) or theirs
            return trace

        return trace

    def _event(self, frame: FrameType, event: str) -> None:
        self.after()
        if event == "line":
            self.place = place_of(frame)
        elif event == "return":  # the caller's line goes on
            self.place = place_of(_users_frame(frame.f_back))


def _users_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def users_frame() -> FrameType | None:
    """The nearest frame that runs the user's code."""
    return _users_frame(caller_frame(2))
