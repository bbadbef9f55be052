"""A program as bytes, and what it brings along: functions by name, everything else by value."""

from __future__ import annotations

import importlib
import io
import pickle
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


class Module:
    """A module of `trace`, by name: pickle sends no modules.

    >>> Module("json").loaded().__name__
    'json'
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def loaded(self) -> ModuleType:
        """The module, imported here."""
        return importlib.import_module(self.name)


class Luggage:
    """A program and the functions, classes and modules of its `trace`, ready to be sent.

    Attributes:
        packed: both as bytes, made by pickle: functions by the names of their modules.
        plain: both as they are, where pickle cannot do that and the executor's own serializer may.
    """

    def __init__(self, program: Any, trace: tuple[Any, ...], executor: Any) -> None:
        names = [Module(t.__name__) if isinstance(t, ModuleType) else t for t in trace]
        whole = program, tuple(names)
        self.packed: bytes | None = None
        self.plain: tuple[Any, tuple[Any, ...]] | None = None
        may_send_more = not isinstance(executor, ProcessPoolExecutor)
        try:
            packed = _pickled(whole, pickle.Pickler)
        except UnsendableProgramError:
            raise
        except Exception as error:
            if not may_send_more:
                raise cannot_be_sent(f"pickle says: {error}") from error
        else:
            if not (may_send_more and b"__main__" in packed):
                self.packed = packed
                return
        _look_inside(whole)
        self.plain = whole

    def opened(self) -> tuple[Any, tuple[Any, ...]]:
        """The program and its trace, in the process that received them."""
        program, trace = self.plain or pickle.loads(self.packed or b"")
        return program, tuple(t.loaded() if isinstance(t, Module) else t for t in trace)


def cannot_be_sent(why: str) -> UnsendableProgramError:
    """The error, with what to do."""
    return UnsendableProgramError(
        f"the program cannot be sent to another process: {why}. Functions of a notebook, of "
        f"python -c, lambdas and inner functions cannot be sent by name: {MODULE}; or use an "
        "executor that sends functions by value, as Dask's does"
    )


def _look_inside(whole: Any) -> None:
    """Refuse what would arrive changed, as a serializer by value would send it.

    Raises:
        UnsendableProgramError: also if not even such a serializer can send it.
    """
    try:
        by_value = importlib.import_module("cloudpickle").Pickler
    except ImportError as error:
        raise cannot_be_sent("pickle cannot, and cloudpickle is not installed here") from error
    try:
        _pickled(whole, by_value)
    except UnsendableProgramError:
        raise
    except Exception as error:
        raise cannot_be_sent(f"cloudpickle says: {error}") from error


def _pickled(whole: Any, pickler: Any) -> bytes:
    class Customs(pickler):  # type: ignore[misc]
        """Sees each object on its way into the bytes."""

        def persistent_id(self, item: Any) -> None:
            inspector.look(item)

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
