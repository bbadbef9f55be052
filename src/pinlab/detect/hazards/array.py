"""`PendingArray`: a numpy view of a buffer that a pending download will fill.

Making it reads nothing; using it before the wait does. Only arrays that are made while the download
is in flight can be followed so: a face made earlier is an ordinary array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pinlab.detect.hazards.line import host_line
from pinlab.sim import Place
from pinlab.sim.extent import Runs, runs_of

Access = Callable[[Runs, Place], None]


class PendingArray(np.ndarray[Any, Any]):
    """A numpy view of a buffer that a pending download will fill; each use is reported.

    Once the download is covered by a wait it is an array like any other.
    """

    access: Access | None = None

    def __array_finalize__(self, base: Any) -> None:
        self.access = getattr(base, "access", None)

    def _report(self) -> None:
        if self.access is not None:
            self.access(runs_of(self), host_line())

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, np.ndarray) or not np.may_share_memory(
            _plain(found), _plain(self)
        ):
            self._report()  # an element, or a copy by fancy indexing; a slice reads nothing
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for value in inputs:
            if isinstance(value, PendingArray):
                value._report()
        outs = tuple(_plain(value) for value in kwargs.pop("out", ()))
        if outs:
            kwargs["out"] = outs
        return getattr(ufunc, method)(*[_plain(value) for value in inputs], **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_read(args), **_read(kwargs))

    def __iter__(self) -> Iterator[Any]:
        self._report()
        return iter(_plain(self))


READERS = """
    all any argmax argmin argpartition argsort astype byteswap choose clip compress copy
    cumprod cumsum dot dump dumps flatten item max mean min nonzero prod repeat round
    searchsorted std sum take tobytes tofile tolist trace var __bool__ __complex__
    __contains__ __copy__ __deepcopy__ __float__ __format__ __index__ __int__ __reduce__
    __reduce_ex__ __repr__ __str__
""".split()


def _reader(name: str) -> Callable[..., Any]:
    """A method of numpy's that reads the elements, and says so first."""
    plain = getattr(np.ndarray, name)

    def method(self: PendingArray, *args: Any, **kwargs: Any) -> Any:
        self._report()
        return plain(_plain(self), *args, **kwargs)

    method.__name__ = name
    return method


for name in READERS:
    setattr(PendingArray, name, _reader(name))


def _read(value: Any) -> Any:
    """Arguments of a numpy function: pending arrays are reported, and handed on plain.

    A list of arrays must not call the function's override again.
    """
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_read(item) for item in value)
    if isinstance(value, dict):
        return {key: _read(item) for key, item in value.items()}
    if isinstance(value, PendingArray):
        value._report()
    return _plain(value)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, PendingArray) else value
