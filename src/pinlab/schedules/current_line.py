"""The line that the host is in: what of it has run, and whether the rest could matter."""

from __future__ import annotations

import os
import sys
from types import FrameType

from pinlab.schedules.bytecode import rest_is_harmless, start_is_harmless
from pinlab.schedules.tracer import Scope
from pinlab.sim.place import is_internal

_OURS = os.path.dirname(__file__) + os.sep


class CurrentLine:
    """Says whether a moment within the line is a choice of its own.

    It is not if nothing in between can have touched a buffer. Code outside the scope could do
    anything.

    Args:
        scope: the code whose lines count.
        opcodes: positions lie between instructions, so a line has no inside.
    """

    def __init__(self, scope: Scope, opcodes: bool) -> None:
        self.scope = scope
        self.opcodes = opcodes
        self.over = False  # the program has returned
        self.frame: FrameType | None = None  # of the last choice
        self.since = -1  # its instruction; -1 is the beginning of the line

    def begins(self, frame: FrameType | None) -> None:
        """A choice before a line."""
        self.frame, self.since = frame, -1

    def goes_on(self, frame: FrameType | None) -> None:
        """A choice within the line."""
        self.frame, self.since = frame, -1 if frame is None else frame.f_lasti

    def is_begun(self, frame: FrameType | None) -> bool:
        """Whether something since the last choice may have touched a buffer."""
        if self.over:
            return False
        if frame is None or frame is not self.frame or not self.scope.counts(frame):
            return True
        return not self.opcodes and not start_is_harmless(frame.f_code, frame.f_lasti, self.since)

    def is_done(self, frame: FrameType | None, is_bool: bool = False) -> bool:
        """Whether the rest of the line cannot touch a buffer.

        Args:
            is_bool: the call that just ended returns a plain bool, so testing it is harmless.
        """
        if frame is None or self.over:
            return True  # None: on autograd's own thread, while the host waits inside `backward`
        if not self.scope.counts(frame):
            return False
        return self.opcodes or rest_is_harmless(frame.f_code, frame.f_lasti, is_bool)


def host_frame() -> FrameType | None:
    """The nearest frame that is neither torch's, nor the device's, nor the explorer's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not is_internal(name):
            break
        frame = frame.f_back
    return frame
