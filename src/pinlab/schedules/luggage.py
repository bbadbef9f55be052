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
        self.spans: list[tuple[int, int]] = []

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
            if not isinstance(item, torch.nn.Parameter):  # its data comes along and is looked at
                self._span(item, *_extent(item))
        elif isinstance(item, np.ndarray):
            self._span(item, *np.lib.array_utils.byte_bounds(item))

    def _span(self, item: Any, start: int, end: int) -> None:
        if id(item) in self.items:
            return
        self.items[id(item)] = item
        for first, last in self.spans:
            if start < last and first < end:
                raise UnsendableProgramError(
                    f"the program brings along a {type(item).__name__} that shares its memory with "
                    f"another one (shape {tuple(item.shape)}); in another process they would be "
                    f"two: make them inside the program, or {MODULE}"
                )
        self.spans.append((start, end))


def _extent(item: torch.Tensor) -> tuple[int, int]:
    """The addresses of its first byte and behind its last; torch's strides are never negative."""
    if item.layout is not torch.strided or not item.numel():
        return 0, 0
    last = sum(step * (n - 1) for step, n in zip(item.stride(), item.shape, strict=True))
    return item.data_ptr(), item.data_ptr() + (last + 1) * item.element_size()
