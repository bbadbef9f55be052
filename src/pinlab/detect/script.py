"""Runs a script as ``python script.py`` would: argv, path, `__main__`, tracebacks, exit status."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence

_TOOLS = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Script:
    """A script to be run in this process, once.

    Args:
        path: of the file. arguments: what it finds behind its name in `sys.argv`.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
    """

    def __init__(self, path: str, arguments: Sequence[str] = ()) -> None:
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path!r} is a folder; it takes a script")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no script {path!r}")
        self.path = path
        self.arguments = list(arguments)

    def run(self) -> None:
        """Run it as `__main__`. What it raises is raised, `SystemExit` too."""
        file = os.path.abspath(self.path)
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=file, __builtins__=__builtins__, __spec__=None)
        sys.modules["__main__"] = main
        sys.argv = [self.path, *self.arguments]
        sys.path[0] = os.path.dirname(os.path.realpath(self.path))
        with open(file, "rb") as stream:
            source = stream.read()
        exec(compile(source, file, "exec", dont_inherit=True), main.__dict__)

    def __repr__(self) -> str:
        return f"<script {' '.join([self.path, *self.arguments])}>"


def print_error(error: BaseException) -> None:
    """Print a traceback, from the first line that is not this tool's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_TOOLS):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def exit_status(stop: SystemExit) -> int:
    """The status that Python would exit with; prints the message of ``sys.exit("message")``."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def advice(error: BaseException) -> str:
    """What to do about a script that insists on CUDA; "" for other errors."""
    words = str(error)
    if "CUDA" in words or "NVIDIA" in words or "cuda" in words:
        return (
            "pinlab: the script asks for CUDA. Let it take the device that there is: "
            "torch.accelerator.current_accelerator(), or an option of its own (see docs/hazards.md)"
        )
    return ""
