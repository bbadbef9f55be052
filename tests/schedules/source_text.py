"""Programs from source text. No test library here: other processes import this file too."""

from __future__ import annotations

import linecache
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pinlab import sim

HELPER = """\
def untraced(buffer, target, value):
    target.copy_(buffer, non_blocking=True)
    buffer[0] = value
    buffer[1] = value + 1

def rewritten(buffer, value):
    there = buffer.to("sim", non_blocking=True)
    buffer.fill_(value)
    return there

def apply(function, *arguments):
    result = function(*arguments)
    arguments[0][2] += 1
    return result
"""


class Sourced:
    """A program that can be sent to another process: its text is, and is compiled there."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.func = compiled(source)

    def __call__(self) -> Any:
        return self.func()

    def __reduce__(self) -> Any:
        return Sourced, (self.source,)


def compiled(source: str, name: str = "program") -> Callable[[], Any]:
    """A function of a source text. `linecache` knows its lines, so places read as in a file."""
    sim.install()
    given = {"torch": torch, "np": np, "sim": sim, "gpu": torch.get_device_module("sim")}
    helpers = dict(given)
    _run(HELPER, "<untraced helpers>", helpers)
    names = {**helpers, **given}
    _run(source, f"<program {zlib.crc32(source.encode())}>", names)
    found: Callable[[], Any] = names[name]
    return found


def _run(text: str, filename: str, names: dict[str, Any]) -> None:
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), names)
