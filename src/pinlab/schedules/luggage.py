"""A program as bytes, and what it brings along: functions by name, everything else by value."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import torch

from pinlab.sim import SimTensor

MODULE = (
    "put the program into a module that the workers can import, as a function on its top level "
    "(functools.partial brings arguments)"
)


class UnsendableProgramError(TypeError):
    """The program cannot be sent to another process, or would not be the same there."""


class Luggage:
    """A program and the functions, classes and modules of its `trace`, as bytes.

    Args:
        program, trace: of the search.
        executor: a `ProcessPoolExecutor` sends functions by name only, and so is served; others
            (Dask's) have cloudpickle at both ends, which sends them by value where a name does not
            do.

    Raises:
        UnsendableProgramError: saying why, and what to do.
    """

    def __init__(self, program: Any, trace: tuple[Any, ...], executor: Any) -> None:
        whole = program, trace
        by_name_only = isinstance(executor, ProcessPoolExecutor)
        self.by_value = False
        try:
            self.packed = _pickled(whole, pickle.Pickler)
        except UnsendableProgramError:
            raise
        except Exception as error:
            if by_name_only:
                raise cannot_be_sent(f"pickle says: {error}") from error
            self.by_value = True
        else:  # a worker's __main__ is another one, but for a script that multiprocessing runs
            self.by_value = b"__main__" in self.packed and not by_name_only
        if self.by_value:
            self.packed = _pickled_by_value(whole)

    def opened(self) -> tuple[Any, tuple[Any, ...]]:
        """The program and its trace, in the process that received them."""
        program, trace = pickle.loads(self.packed)
        return program, trace


def cannot_be_sent(why: str) -> UnsendableProgramError:
    """The error, with what to do."""
    return UnsendableProgramError(
        f"the program cannot be sent to another process: {why}. Functions of a notebook, of "
        f"python -c, lambdas and inner functions cannot be sent by name: {MODULE}; or use an "
        "executor that sends functions by value, as Dask's does"
    )


def _pickled_by_value(whole: Any) -> bytes:
    try:
        by_value = importlib.import_module("cloudpickle").Pickler
    except ImportError as error:
        raise cannot_be_sent("pickle cannot, and cloudpickle is not installed here") from error
    try:
        return _pickled(whole, by_value)
    except UnsendableProgramError:
        raise
    except Exception as error:
        raise cannot_be_sent(f"cloudpickle says: {error}") from error


def _pickled(whole: Any, pickler: Any) -> bytes:
    """The bytes; each object is looked at on its way into them."""

    class Customs(pickler):  # type: ignore[misc]
        def persistent_id(self, item: Any) -> None:
            inspector.look(item)

        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, type(torch.get_device_module("sim"))):
                return torch.get_device_module, ("sim",)
            if isinstance(item, ModuleType) and item.__name__ in sys.modules:
                return importlib.import_module, (item.__name__,)
            if pickler is pickle.Pickler:
                return NotImplemented
            return super().reducer_override(item)

    inspector = _Inspector()
    file = io.BytesIO()
    Customs(file, protocol=pickle.HIGHEST_PROTOCOL).dump(whole)
    return file.getvalue()


class _Inspector:
    """Memory that does not arrive as it was left: pinned, on the device, or shared."""

    def __init__(self) -> None:
        self.items: dict[int, Any] = {}  # by id, and so kept alive
        self.spans: list[tuple[int, int, bool]] = []

    def look(self, item: Any) -> None:
        """Refuse it, or remember its bytes."""
        if isinstance(item, torch.Tensor):
            kind = "device" if isinstance(item, SimTensor) else "pinned"
            if kind == "device" or item.is_pinned():
                raise UnsendableProgramError(
                    f"the program brings along a {kind} tensor of shape {tuple(item.shape)}; in "
                    f"another process it would be another one, or ordinary memory: make it inside "
                    f"the program, or {MODULE}"
                )
            start = item.data_ptr() if item.layout is torch.strided else 0
            self._span(item, start, start + item.nbytes, False)
        elif isinstance(item, np.ndarray):
            self._span(item, *np.lib.array_utils.byte_bounds(item), True)

    def _span(self, item: Any, start: int, end: int, is_array: bool) -> None:
        if id(item) in self.items:
            return
        self.items[id(item)] = item
        for first, last, other in self.spans:
            if start < last and first < end and (is_array or other):
                raise UnsendableProgramError(
                    f"the program brings along an array that shares its memory with another one "
                    f"(shape {tuple(item.shape)}); in another process they would be two: make "
                    f"them inside the program, or {MODULE}"
                )
        self.spans.append((start, end, is_array))
