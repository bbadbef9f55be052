"""Kernels of the user's own, which read and write pinned host memory in place ("zero copy").

They are given device tensors and pinned host tensors side by side, as a kernel is given pointers.
The bytes are used when the stream gets there, and the host allocator hears nothing of it: a dropped
pinned block may be handed out again while a queued kernel still uses it.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim.errors import IllegalAddressError
from pinlab.sim.operation import Operation, Work
from pinlab.sim.results import check_promise
from pinlab.sim.state import accelerator, host_memory
from pinlab.sim.streams import current_queue
from pinlab.sim.tensor import SimTensor
from pinlab.sim.untraced import untraced
from pinlab.sim.uva import described

VALUES = (bool, int, float, complex, str, type(None), torch.dtype)  # fixed when the call is made
PREFIX = "kernel "  # of the operation's name


def kernel(fn: Callable[..., Any], out: Any, *ins: Any) -> None:
    """Queue a kernel of your own on the current stream: ``out`` becomes ``fn(*ins)``.

    Args:
        fn: takes the inputs as CPU tensors, returns one tensor for each output, of its shape and
            dtype. It runs when the stream gets there. It must not use tensors that it was not
            given, nor write its inputs.
        out: a device tensor or a pinned host tensor, or a tuple of them. What is only read and
            written in part stands on both sides: ``kernel(f, pages, pages, index)``.
        ins: device tensors, pinned host tensors (a view will do), and plain values.

    Raises:
        IllegalAddressError: for a host tensor that is not pinned, naming it. (A GPU with paging
            hardware of its own may read pageable memory; this one has none.)
        TypeError: for another kind of argument, or an `fn` that brings tensors of its own.

    What goes wrong in `fn` is raised at the next wait. In this model a kernel reads all its inputs
    at one moment and writes all its outputs at one moment.

    >>> from pinlab import sim
    >>> sim.install()
    >>> slot = torch.tensor([1], pin_memory=True)
    >>> out = torch.empty(1, dtype=torch.int64, device="sim")
    >>> with sim.mode("lazy"):
    ...     sim.kernel(lambda s: s * 10, out, slot)  # nothing was read yet
    ...     slot[0] = 7
    ...     print(out.tolist())
    [70]
    """
    name = getattr(fn, "__name__", type(fn).__name__).strip("<>")
    _check_closure(fn, name)
    several = isinstance(out, (tuple, list))
    outs = [_reach(t, name, f"output {k}") for k, t in enumerate(out if several else (out,))]
    given = [_reach(value, name, f"input {k}") for k, value in enumerate(ins)]
    for k, target in enumerate(outs):
        if not isinstance(target, torch.Tensor):
            raise TypeError(f"{PREFIX}{name}: output {k} must be a tensor, got {target!r}")
    work = _work(untraced(fn), name, outs, given, several)
    operation = Operation(PREFIX + name, "kernel", current_queue(), work)
    read = [value for value in given if isinstance(value, torch.Tensor)]
    operation.device_reads, operation.host_reads = _sorted(read)
    operation.device_writes, operation.host_writes = _sorted(outs)
    accelerator().submit(operation)


def _reach(value: Any, name: str, which: str) -> Any:
    """The memory behind an argument as the device sees it; plain values as they are."""
    if isinstance(value, SimTensor):
        return value._inner
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.layout is not torch.strided:
            raise TypeError(f"{PREFIX}{name}: {which} is {described(value)}")
        if value.numel() and host_memory.find(value.data_ptr()) is None:
            raise IllegalAddressError(
                f"an illegal memory access: {PREFIX}{name} would use {which}, {described(value)}; "
                "a kernel reaches device memory and pinned host memory only"
            )
        return host_memory.device_view(value.detach())
    if not isinstance(value, VALUES):
        raise TypeError(
            f"{PREFIX}{name}: {which} is a {type(value).__name__}; it takes tensors and plain "
            "values (numbers, strings, dtypes)"
        )
    return value


def _sorted(tensors: list[torch.Tensor]) -> tuple[Any, Any]:
    """Those in device memory, and those in host memory."""
    on_host = [t for t in tensors if host_memory.find(t.data_ptr()) is not None]
    there = [t for t in tensors if host_memory.find(t.data_ptr()) is None]
    return tuple(there), tuple(on_host)


def _check_closure(fn: Callable[..., Any], name: str) -> None:
    """A tensor that `fn` brings along would be read unseen: by the explorer, by anybody."""
    if not callable(fn):
        raise TypeError(f"kernel takes a function first, got {fn!r}")
    if not isinstance(fn, types.FunctionType):
        return
    outside = inspect.getclosurevars(fn)
    for variable, value in {**outside.globals, **outside.nonlocals}.items():
        if isinstance(value, torch.Tensor) or hasattr(value, "__array_interface__"):
            raise TypeError(f"{PREFIX}{name} uses {variable!r} from outside: pass it as an input")


def _work(
    fn: Callable[..., Any], name: str, outs: list[torch.Tensor], given: list[Any], several: bool
) -> Work:
    def work() -> None:
        copies = [v.clone() if isinstance(v, torch.Tensor) else v for v in given]
        result = fn(*copies)
        for k, copy in enumerate(copies):
            if isinstance(copy, torch.Tensor) and copy._version:
                raise RuntimeError(f"it wrote its input {k}, which is no output of the call")
        results = tuple(result) if several and isinstance(result, (tuple, list)) else (result,)
        if len(results) != len(outs) or not all(isinstance(r, torch.Tensor) for r in results):
            found = ", ".join(type(r).__name__ for r in results)
            raise TypeError(f"it must return {len(outs)} tensor(s), one per output; got {found}")
        for made, target in zip(results, outs, strict=True):
            check_promise(made, target)
            target.copy_(made)

    return work
