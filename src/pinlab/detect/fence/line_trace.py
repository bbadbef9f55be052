"""Follows only the lines that are compared, to hear when they are over."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from pinlab.detect.fence.guard import Guard
from pinlab.detect.fence.plan import Plan
from pinlab.sim.place import place_of

Trace = Callable[[FrameType, str, Any], Any]


def follow(plan: Plan, guard: Guard) -> None:
    """Tell `guard` when a compared line has ended. For the rest of the process's life."""
    if not plan.compared:
        return
    files = {file for file, _ in plan.compared}
    known: dict[CodeType, bool] = {}

    def concerned(code: CodeType) -> bool:
        if code not in known:
            lines = {(code.co_filename, line) for *_, line in code.co_lines()}
            known[code] = not plan.compared.isdisjoint(lines)
        return known[code]

    def called(frame: FrameType, event: str, arg: Any) -> Trace | None:
        if frame.f_code.co_filename in files and concerned(frame.f_code):
            return within
        return None

    def within(frame: FrameType, event: str, arg: Any) -> Trace:
        if event in ("line", "return"):
            guard.line_over()
        if event == "line" and (frame.f_code.co_filename, frame.f_lineno) in plan.opened:
            guard.open_all(place_of(frame))
        return within

    threading.settrace(called)
    sys.settrace(called)
