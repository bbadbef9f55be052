"""Run a learner's function; turn what goes wrong in it into words."""

from __future__ import annotations

import dis
import linecache
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

# Part of an exception's text -> what it usually means here. The first that fits is shown.
EXPLANATIONS = (
    (
        "read-only",
        "numpy refuses to write through a read-only face; find the array it is a face of",
    ),
    (
        "has no attribute 'req_id_to_index'",
        "your __init__ does not call super().__init__(*args, **options), which makes the rows",
    ),
    ("has no attribute 'clone'", "clone() is a tensor's word for it; numpy's is copy()"),
    ("has no attribute 'copy'", "copy() is numpy's word for it; a tensor's is clone()"),
    ("is not an iterator", "a @contextmanager must `yield` its rows, once, and not return them"),
    (
        "the context manager protocol",
        "@contextmanager must stand above the method that `with` calls, and the method yields once",
    ),
    (
        "program must be a function",
        "explore calls the program itself, many times: hand it over without calling it",
    ),
    ("expected np.ndarray", "from_numpy takes a numpy array; what you gave it is none"),
    (
        "is ambiguous",
        "a comparison of tensors or arrays has many answers; ask torch.equal(a, b), or compare "
        "lists: .tolist()",
    ),
    ("positional argument", "keep the parameters of the stub: the check calls it with those"),
    ("Ellipsis", "there are still dots in your function"),
    ("'ellipsis'", "there are still dots in your function"),
    ("is not defined", "a name is used that neither your function nor a cell above has made"),
    ("before assignment", "a name that a function assigns is local to it everywhere in it"),
    (
        "not associated with a value",
        "a name that a function assigns is local to it everywhere in it",
    ),
)


_NOT_THEIRS = (
    str(Path(__file__).resolve().parents[2]),  # this package
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)


class LearnerError(Exception):
    """An exception raised by a learner's function, explained."""


def attempt(function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(*args)``; LearnerError if it is no function or raises.

    >>> attempt(lambda rows: rows.clone(), [1])
    Traceback (most recent call last):
    pinlab.classroom.checks.attempt.LearnerError: Your function raised AttributeError: ...
    """
    if not callable(function):
        raise LearnerError(f"The check takes the function itself, not {_short(function)}.")
    try:
        return function(*args)
    except Exception as error:
        raise LearnerError(_told(error, function)) from error


def is_stub(answer: Any) -> bool:
    """True for a function that does nothing yet: dots, ``pass``, or a docstring alone.

    >>> def mine(lens, n): ...
    >>> is_stub(mine), is_stub(lambda lens, n: lens[:n])
    (True, False)
    """
    if not isinstance(answer, FunctionType):
        return False
    steps = list(dis.get_instructions(answer))
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    loaded = [step.argval for step in steps if step.opname.endswith("_CONST")]
    return all(s.opname in idle for s in steps) and all(c is None or c is ... for c in loaded)


def _told(error: Exception, function: Callable[..., Any]) -> str:
    text = str(error).strip().split("\n")[0]
    said = f"Your function raised {type(error).__name__}: {_short(text, quote=False)}"
    code = getattr(function, "__code__", None)
    file = code.co_filename if code is not None and not _is_ours(code.co_filename) else None
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        theirs = frame.filename == file if file else not _is_ours(frame.filename)
        if theirs and frame.lineno:
            line = linecache.getline(frame.filename, frame.lineno).strip()
            if line:
                said += f"\n  in the line: {line}"
            break
    for part, meaning in EXPLANATIONS:
        if part in str(error):
            return f"{said}\n  That means: {meaning}."
    return said


def _is_ours(filename: str) -> bool:
    """Whether a file belongs to this package, to a library or to Python, and not to the learner."""
    return filename.startswith(("<frozen", *_NOT_THEIRS))


def _short(thing: Any, limit: int = 100, quote: bool = True) -> str:
    text = repr(thing) if quote else str(thing)
    return text if len(text) <= limit else text[: limit - 1] + "…"
