"""The host, line by line: calls back before each line of the code that counts."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, ModuleType
from typing import Any

import pinlab
from pinlab.sim.place import Place, is_internal

_HERE = os.path.dirname(pinlab.__file__) + os.sep
_OURS = _HERE + "schedules" + os.sep
_CLASSROOM = _HERE + "classroom" + os.sep  # explores for somebody else: as a caller it is no host
_ALWAYS = tuple(_HERE + room + os.sep for room in ("serving", "casebook"))


def host_frame() -> FrameType | None:
    """The nearest frame that is neither torch's, nor the device's, nor the explorer's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not is_internal(name):
            break
        frame = frame.f_back
    return frame


class Scope:
    """Which code counts as "the host's lines".

    The program's file and its caller's (all cells, in a notebook), `pinlab.serving` and
    `pinlab.casebook`, and what `trace` adds: functions, classes, modules or packages.
    """

    def __init__(self, program: Callable[..., Any], caller: FrameType | None, trace: Iterable[Any]):
        unwrapped = inspect.unwrap(program)
        self.files = {_code_of(program).co_filename, _code_of(unwrapped).co_filename}
        if caller is not None and not caller.f_code.co_filename.startswith(_CLASSROOM):
            self.files.add(caller.f_code.co_filename)
        self.folders = _ALWAYS
        self.codes: dict[CodeType, bool] = {}
        for extra in trace:
            self._add(extra)
        self.cells = any(_is_cell(name) for name in self.files)

    def _add(self, extra: Any) -> None:
        if isinstance(extra, ModuleType):
            if not getattr(extra, "__file__", None):
                raise TypeError(f"{extra!r} has no Python file whose lines could be traced")
            folders = tuple(path + os.sep for path in getattr(extra, "__path__", ()))
            self.folders = (*self.folders, *folders)
            self.files.add(str(extra.__file__))
        elif isinstance(extra, type):
            for member in vars(extra).values():
                if inspect.isfunction(member):
                    self._add_code(member.__code__)
        else:
            self._add_code(_code_of(extra))

    def _add_code(self, code: CodeType) -> None:
        self.codes[code] = True
        for inner in code.co_consts:  # functions and comprehensions inside it
            if isinstance(inner, CodeType):
                self._add_code(inner)

    def counts(self, code: CodeType) -> bool:
        """Whether lines of `code` are host steps."""
        known = self.codes.get(code)
        if known is None:
            name = code.co_filename
            known = name in self.files or name.startswith(self.folders)
            known = known or (self.cells and _is_cell(name))
            self.codes[code] = known
        return known

    def __str__(self) -> str:
        names = sorted({Place(name, 0).file for name in self.files})
        added = self.folders[len(_ALWAYS) :]
        extra = sorted(path.rstrip(os.sep).rsplit(os.sep, 1)[-1] for path in added)
        cells = ["all cells"] if self.cells else []
        return ", ".join([*cells, *(name for name in names if not name.startswith("In [")), *extra])


def _code_of(function: Any) -> CodeType:
    """The code of a function, method, partial or callable object."""
    for step in ("func", "__wrapped__", "__func__"):
        if not hasattr(function, "__code__") and hasattr(function, step):
            return _code_of(getattr(function, step))
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", None)  # noqa: B004 - an object, called
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        raise TypeError(f"{function!r} has no Python code that could be traced")
    return code


def _is_cell(filename: str) -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return filename in getattr(getattr(shell, "compile", None), "_filename_map", {})


class Tracer:
    """Runs a function under `sys.settrace` and puts the previous tracer back.

    Args:
        scope: the code whose lines count.
        before_line: called with the frame before each line (each opcode, if `opcodes`).
        after_return: called when a function of the scope returns, but the outermost one.
    """

    def __init__(
        self,
        scope: Scope,
        before_line: Callable[[FrameType], None],
        after_return: Callable[[FrameType], None],
        opcodes: bool = False,
    ) -> None:
        self.scope = scope
        self.before_line = before_line
        self.after_return = after_return
        self.event = "opcode" if opcodes else "line"

    def run(self, function: Callable[[], Any]) -> Any:
        """Call `function` and return its value."""
        outer = sys.gettrace()
        sys.settrace(self._call)
        try:
            return function()
        finally:
            sys.settrace(outer)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self.scope.counts(frame.f_code):
            return None
        if self.event == "opcode":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return self._local

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == self.event:
            self.before_line(frame)
        elif event == "return" and not _is_outermost(frame):
            self.after_return(frame)
        return self._local


def _is_outermost(frame: FrameType) -> bool:
    return frame.f_back is not None and frame.f_back.f_code is Tracer.run.__code__
