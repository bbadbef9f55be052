"""Device work must not be seen by the host's torch modes.

Queued work may run on the host's thread, at a wait. What is in force there (autocast, inference
mode, a `vmap`, a `TorchFunctionMode` or `TorchDispatchMode`) belongs to the host's line, not to the
device. Torch keeps it per thread, most of it as sets of dispatch keys; a new thread has none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager as ContextManager
from contextlib import contextmanager
from typing import Any

import torch


def quiet() -> ContextManager[None]:
    """A context in which torch works as on a new thread."""
    if torch._C._len_torch_function_stack():
        return _without_functions()
    guard: ContextManager[None] = torch._C._ForceDispatchKeyGuard(_INCLUDED, _EXCLUDED)
    return guard


@contextmanager
def _without_functions() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), torch._C._ForceDispatchKeyGuard(_INCLUDED, _EXCLUDED):
        yield


def _keys_of_a_new_thread() -> tuple[Any, Any]:
    found: list[Any] = []

    def look() -> None:
        found.append(torch._C._dispatch_tls_local_include_set())
        found.append(torch._C._dispatch_tls_local_exclude_set())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0], found[1]


_INCLUDED, _EXCLUDED = _keys_of_a_new_thread()
