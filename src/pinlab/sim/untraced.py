"""Switching `sys.settrace` off inside the device's own code.

Tracing slows every instruction down, not only those of the functions that are traced.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` without line tracing: the device's own code holds no line that counts."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        tracer = sys.gettrace()
        if tracer is None:
            return function(*args)
        sys.settrace(None)
        try:
            return function(*args)
        finally:
            sys.settrace(tracer)

    return call
