"""The host, line by line: calls back before each line of the code that counts."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pinlab
from pinlab.sim.place import Place

_HERE = os.path.dirname(pinlab.__file__) + os.sep
_ALWAYS = tuple(_HERE + room + os.sep for room in ("serving", "casebook"))


class Scope:
    """Which code counts as "the host's lines".

    The program's module and its caller's (in a notebook: all its cells), `pinlab.serving` and
    `pinlab.casebook`, and what `trace` adds: functions, classes, modules or packages.
    """

    def __init__(self, program: Callable[..., Any], caller: FrameType | None, trace: Iterable[Any]):
        functions = [_function_of(program), _function_of(inspect.unwrap(program))]
        self.files = {function.__code__.co_filename for function in functions}
        self.spaces = [function.__globals__ for function in functions]
        self.caller: str | None = None  # its module
        if caller is not None and not caller.f_code.co_filename.startswith(_HERE):
            self.files.add(caller.f_code.co_filename)
            self.spaces.append(caller.f_globals)
            self.caller = caller.f_globals.get("__name__")
        self.modules: set[str] = set()
        self.folders = _ALWAYS
        self.codes: dict[int, tuple[CodeType, bool]] = {}  # by id: equal code may be elsewhere
        self.added: list[str] = []
        self.trace = tuple(trace)
        for extra in self.trace:
            self._add(extra)

    def count_module(self, name: str) -> None:
        """Count the lines of a module by its name, whether it is loaded here or not."""
        self.modules.add(name)
        if name == "__main__":
            self.modules.add("__mp_main__")  # its name in a process that multiprocessing started

    def _add(self, extra: Any) -> None:
        self.added.append(getattr(extra, "__name__", str(extra)))
        if isinstance(extra, ModuleType):
            if not getattr(extra, "__file__", None):
                raise TypeError(f"{extra!r} has no Python file whose lines could be traced")
            folders = tuple(path + os.sep for path in getattr(extra, "__path__", ()))
            self.folders = (*self.folders, *folders)
            self.spaces.append(vars(extra))
        elif isinstance(extra, type):
            for member in vars(extra).values():
                if inspect.isfunction(member):
                    self._add_code(member.__code__)
        else:
            self._add_code(_function_of(extra).__code__)

    def _add_code(self, code: CodeType) -> None:
        self.codes[id(code)] = code, True
        for inner in code.co_consts:  # functions and comprehensions inside it
            if isinstance(inner, CodeType):
                self._add_code(inner)

    def counts(self, frame: FrameType) -> bool:
        """Whether lines of this frame are host steps."""
        known = self.codes.get(id(frame.f_code))
        if known is None:
            known = self.codes[id(frame.f_code)] = frame.f_code, self._counts(frame)
        return known[1]

    def _counts(self, frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        if name == "<string>" and name not in self.files:
            return False  # generated, e.g. the __init__ of a dataclass
        if name.startswith(self.folders) or frame.f_globals.get("__name__") in self.modules:
            return True
        return any(frame.f_globals is space for space in self.spaces)

    def __str__(self) -> str:
        names = {Place(name, 0).file for name in self.files}
        cells = {"this notebook's cells" if name.startswith("In [") else name for name in names}
        return ", ".join([*sorted(cells), *self.added])


def _function_of(program: Any) -> FunctionType:
    """The Python function behind a method, partial, wrapper or callable object."""
    if isinstance(program, FunctionType):
        return program
    for step in ("func", "__wrapped__", "__func__"):
        if hasattr(program, step):
            return _function_of(getattr(program, step))
    call = getattr(type(program), "__call__", None)  # noqa: B004 - an object, called
    if not isinstance(call, FunctionType):
        raise TypeError(f"{program!r} has no Python code that could be traced")
    return call


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
        self.lost = False

    def run(self, function: Callable[[], Any]) -> Any:
        """Call `function` and return its value; `lost` says if it left another tracer behind."""
        outer = sys.gettrace()
        sys.settrace(self._call)
        try:
            value = function()
            self.lost = sys.gettrace() != self._call
            return value
        finally:
            sys.settrace(outer)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        known = self.scope.codes.get(id(frame.f_code))  # as in counts(): this is a hot path
        if not (known[1] if known is not None else self.scope.counts(frame)):
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
