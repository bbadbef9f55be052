"""What a program returned, in a form that can be compared and hashed: type, dtype, shape, bytes."""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from pinlab.sim import SimTensor
from pinlab.sim.errors import text_of
from pinlab.sim.memory import new_tensor
from pinlab.sim.quiet import quiet
from pinlab.sim.state import accelerator


class Raised:
    """The outcome of a schedule in which the program raised an exception.

    >>> Raised(ValueError("row 3")), Raised(ValueError("row 3")) == Raised(ValueError, "row 3")
    (Raised(ValueError, 'row 3'), True)
    """

    def __init__(self, error: BaseException | type[BaseException], message: str = "") -> None:
        self.type = error if isinstance(error, type) else type(error)
        self.message = message if isinstance(error, type) else text_of(error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and freeze(self) == freeze(other)

    def __hash__(self) -> int:
        return hash(freeze(self))

    def __repr__(self) -> str:
        return f"Raised({self.type.__name__}, {self.message!r})"


@dataclasses.dataclass(frozen=True)
class Blocked:
    """The outcome of a schedule in which the host waits for a stream that it holds itself.

    `hold` is the line of the hold, as ``file:line``.
    """

    hold: str

    def __repr__(self) -> str:
        return f"Blocked(by the hold at {self.hold})"


class Outcome:
    """One distinct value. Equal means: same type, dtype, shape and bytes; NaN equals NaN.

    >>> Outcome([1, 2]) == [1, 2], Outcome(1) == 1.0, Outcome(float("nan")) == float("nan")
    (True, False, True)
    """

    __slots__ = ("_hash", "key", "value")

    def __init__(self, value: Any, key: Any = None) -> None:
        self.value = value
        self.key = freeze(value) if key is None else key
        self._hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Outcome):
            return bool(self.key == other.key)
        return bool(self.key == freeze(other))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.value)


class Outcomes(dict[Outcome, list[Any]]):
    """Outcomes and their schedules; look one up by the plain value."""

    def __getitem__(self, value: Any) -> list[Any]:
        return super().__getitem__(as_outcome(value))

    def __contains__(self, value: object) -> bool:
        return super().__contains__(as_outcome(value))

    def get(self, value: Any, default: Any = None) -> Any:
        """The schedules of a plain value, or `default`."""
        return super().get(as_outcome(value), default)

    def values_seen(self) -> Iterator[Any]:
        """The plain values, most frequent first."""
        return (outcome.value for outcome in self)


_EXACT = {int, bool, str, bytes, type(None)}  # equal and of one type is the same
_PLAIN = _EXACT | {float, complex}


def as_outcome(value: Any) -> Outcome:
    """`value` itself if it is an outcome already."""
    return value if isinstance(value, Outcome) else Outcome(value)


def freeze(value: Any) -> Any:
    """A hashable key that is equal exactly for equal outcomes.

    Raises:
        TypeError: for an object whose content is unknown; return tensors, arrays, numbers, strings,
            dataclasses or containers of them.
    """
    kind = type(value)
    if kind in _EXACT:
        return kind.__name__, value
    if isinstance(value, (float, complex)):
        return kind.__name__, _nan_free(np.asarray(value)).tobytes()
    if isinstance(value, enum.Enum):
        return kind.__qualname__, value.name
    if isinstance(value, (int, str, bytes)):
        return kind.__name__, value
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return type(value).__name__, str(array.dtype), array.shape, _array_bytes(array)
    if isinstance(value, (list, tuple)):
        items = set(map(type, value))
        if len(items) == 1 and items <= _EXACT:  # the common case, at C speed
            return kind.__name__, items.pop().__name__, tuple(value)
        return kind.__name__, tuple(freeze(item) for item in value)
    if isinstance(value, Mapping):
        return type(value).__name__, frozenset((freeze(k), freeze(v)) for k, v in value.items())
    return _other(value)


def _other(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, frozenset(freeze(item) for item in value)
    if isinstance(value, Raised):
        return "raised", value.type.__qualname__, value.message
    if isinstance(value, Blocked):
        return "blocked", value.hold
    if isinstance(value, (torch.dtype, torch.device, range)):
        return type(value).__name__, str(value)
    if isinstance(value, (bytearray, memoryview)):
        return type(value).__name__, bytes(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return type(value).__qualname__, tuple(freeze(getattr(value, f.name)) for f in fields)
    raise TypeError(
        f"cannot compare outcomes of type {type(value).__name__}: return tensors, arrays, numbers, "
        "strings, dataclasses, or lists, tuples and dicts of them"
    )


def _tensor(value: torch.Tensor) -> Any:
    if value.layout is not torch.strided:
        raise TypeError(f"cannot compare outcomes with {value.layout} tensors: return dense ones")
    device = accelerator() if isinstance(value, SimTensor) else None
    if device is not None and not device.mode.exclusive:
        device.wait(device.everything())
    plain = value.detach()
    host = plain._inner if isinstance(plain, SimTensor) else plain
    dense = host.contiguous().resolve_conj().resolve_neg()
    dense = torch.view_as_real(dense) if dense.is_complex() else dense
    if dense.is_floating_point():
        dense = torch.where(dense.isnan(), torch.full_like(dense, float("nan")), dense)
    raw = dense.reshape(-1).view(torch.uint8).numpy().tobytes()
    return "tensor", value.device.type, str(value.dtype), tuple(value.shape), raw


def _array_bytes(array: Any) -> Any:
    if array.dtype.hasobject:
        return tuple(freeze(item) for item in array.reshape(-1).tolist())
    return _nan_free(array).tobytes()


def _nan_free(array: Any) -> Any:
    """Every NaN replaced by the one usual NaN: their payload bits carry no meaning."""
    if array.dtype.kind == "c":
        parts = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
        return _nan_free(parts)
    if array.dtype.kind == "f":
        return np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array


def detached(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """A copy of `value`, containers included, in which `leaf` replaced tensors and arrays."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (torch.Tensor, np.ndarray, bytearray, memoryview)):
        return leaf(value)
    if isinstance(value, tuple):
        parts = [detached(item, leaf) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        items = copy.copy(value)
        if not _PLAIN.issuperset(map(type, value)):
            items[:] = [detached(item, leaf) for item in value]
        return items
    if isinstance(value, dict):
        named = copy.copy(value)
        named.update((name, detached(item, leaf)) for name, item in value.items())
        return named
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        record = copy.copy(value)
        for field in dataclasses.fields(value):
            item = detached(getattr(value, field.name), leaf)
            object.__setattr__(record, field.name, item)
        return record
    return value


def host_bytes(value: Any) -> Any:
    """A leaf's host bytes as they are now; late downloads do not change them any more."""
    if isinstance(value, SimTensor):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return bytes(value) if isinstance(value, memoryview) else copy.copy(value)


def device_bytes(value: Any) -> Any:
    """A leaf's device bytes, once all work is done, in a tensor of their own."""
    if not isinstance(value, SimTensor):
        return value
    with quiet():
        own = new_tensor(value._layout, accelerator().default)
        own._inner.copy_(value._inner)
    return own
