"""What can be run as a program: a function without arguments that returns a value."""

from __future__ import annotations

import inspect
from typing import Any


def check_program(program: Any) -> None:
    """Refuse what cannot be called without arguments, or would not run when it is.

    Raises:
        TypeError: naming the program and what is wrong with it.

    >>> check_program(lambda: 1)
    >>> check_program(lambda batch: batch)
    Traceback (most recent call last):
    TypeError: program must be a function without arguments; <lambda> cannot be called so: \
missing a required argument: 'batch'
    """
    if not callable(program):
        raise TypeError(f"program must be a function without arguments, got {program!r}")
    name = getattr(program, "__qualname__", repr(program)).rpartition(".")[2]
    for test, what in (
        (inspect.iscoroutinefunction, "an async function"),
        (inspect.isasyncgenfunction, "an async generator"),
        (inspect.isgeneratorfunction, "a generator"),
    ):
        if test(program):
            raise TypeError(f"{name} is {what}: a call of it runs no line; wrap it in a function")
    try:
        # What is called counts, not what it wraps: a wrapper may bring the arguments.
        signature = inspect.signature(program, follow_wrapped=False)
    except (TypeError, ValueError):
        return  # some builtins tell nothing
    try:
        signature.bind()
    except TypeError as error:
        raise TypeError(
            f"program must be a function without arguments; {name} cannot be called so: {error}"
        ) from None
