"""Device work must not be seen by the host's torch modes.

Queued work may run on the host's thread, at a wait. A `TorchFunctionMode` or `TorchDispatchMode`
that is active there (a default device, a flop counter, a tracker) belongs to the host's line, not
to the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager as ContextManager
from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import _disable_current_modes

_NOTHING: ContextManager[None] = nullcontext()


def quiet() -> ContextManager[None]:
    """A context without the host's modes; free of charge where there is none."""
    if torch._C._len_torch_dispatch_stack() == 0 and torch._C._len_torch_function_stack() == 0:
        return _NOTHING
    return _without_modes()


@contextmanager
def _without_modes() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield
