"""A place in somebody's source: a line that queued an operation, wrote a buffer, held a stream."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import weakref
from dataclasses import dataclass
from types import CodeType, FrameType

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_SIM = os.path.dirname(__file__) + os.sep
_DETECT = os.path.join(os.path.dirname(_SIM[:-1]), "detect")
_WATCHING = tuple(os.path.join(_DETECT, tool) + os.sep for tool in ("hazards", "fence"))
_HOLDS = tuple(os.path.join(_SIM, os.pardir, "device", name) for name in ("hold.py", "gate.py"))
_PLUMBING = (contextlib.__file__, weakref.__file__, *map(os.path.normpath, _HOLDS))
_internal: dict[str, bool] = {}  # file name -> is it torch's or ours? (asked for every operation)


@dataclass(frozen=True)
class Place:
    """One line of source.

    >>> Place("/home/me/engine.py", 12, "step")
    engine.py:12
    """

    filename: str
    lineno: int
    function: str = ""

    @property
    def source(self) -> str:
        """The text of the line, stripped; empty if it cannot be read."""
        return linecache.getline(self.filename, self.lineno).strip()

    @property
    def file(self) -> str:
        """The file's name, or ``In [n]`` for a notebook cell (its temporary name varies)."""
        cell = _notebook_cell(self.filename)
        return f"In [{cell}]" if cell is not None else os.path.basename(self.filename)

    def __str__(self) -> str:
        return f"{self.file}:{self.lineno}"

    __repr__ = __str__


def _notebook_cell(filename: str) -> int | None:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)


def is_internal(filename: str) -> bool:
    """Whether a file belongs to torch, to the simulated device or to the import system."""
    known = _internal.get(filename)
    if known is None:
        known = filename.startswith((_TORCH, _SIM, *_WATCHING, "<frozen")) or filename in _PLUMBING
        _internal[filename] = known
    return known


def caller_frame(depth: int = 1) -> FrameType | None:
    """The nearest frame that is the user's own code, `depth` frames up or further.

    To jump there is quicker than to walk: Python 3.11 makes a frame object only where one is seen.
    """
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:  # a thread of torch's own, which runs a backward pass
        return None
    while frame is not None:
        filename = frame.f_code.co_filename
        internal = _internal.get(filename)  # first, without a call: each launch comes by here
        if not (is_internal(filename) if internal is None else internal):
            break
        frame = frame.f_back
    return frame


def line_at(code: CodeType, at: int) -> int:
    """The source line of a bytecode index; to find it takes longer than to keep the index.

    >>> line_at(compile("a = 1", "x.py", "exec"), 4)
    1
    """
    for start, stop, line in code.co_lines():
        if start <= at < stop and line is not None:
            return line
    return code.co_firstlineno


def place_of(frame: FrameType | None) -> Place:
    """The line at which a frame stands.

    >>> import sys
    >>> place_of(sys._getframe()).lineno
    1
    """
    if frame is None:
        return Place("<unknown>", 0)
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def caller_place() -> Place:
    """The user's line that is being executed now."""
    return place_of(caller_frame(2))
