"""Registration: after `install()`, torch knows a device named ``sim`` and a module `torch.sim`."""

from __future__ import annotations

import atexit
import os
import threading
import types
from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim import dispatch, generator, streams
from pinlab.sim.completion import complete
from pinlab.sim.errors import SimError
from pinlab.sim.factories import override_pinning, wrap_factories
from pinlab.sim.graph import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from pinlab.sim.lifecycle import after_fork, stop
from pinlab.sim.memory import check_options, empty, empty_strided
from pinlab.sim.state import accelerator, device_memory, is_started, start

_library: list[torch.library.Library] = []
_installing = threading.Lock()


def install() -> None:
    """Register the simulated device as ``torch.device("sim")``. A second call does nothing.

    Raises:
        SimError: if CUDA was initialised, or another Python backend took the only free place.
    """
    with _installing:
        if is_started():
            return
        if torch.cuda.is_initialized():
            raise SimError(
                "CUDA is in use in this process: the simulated device would take its place as "
                "torch's accelerator and its pinned memory; start a new process"
            )
        _register()
        start()
        atexit.register(stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=after_fork)


def _register() -> None:
    from torch.utils.backend_registration import (
        _setup_privateuseone_for_python_backend as register,
    )

    try:
        register("sim", backend_module=SimModule())
    except RuntimeError as error:
        raise SimError(f"torch's place for a Python backend is taken: {error}") from error
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", empty, "PrivateUse1")
    library.impl("empty_strided", empty_strided, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    for name in ("tril_indices", "triu_indices"):  # the factories not made of `empty`
        library.impl(name, _queued(getattr(torch.ops.aten, name).default), "PrivateUse1")
    override_pinning(library)
    _library.append(library)  # its end would undo the registrations
    wrap_factories()
    complete(library)


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> Any:
    """Copies that reach us below the Python key, from `torch.tensor(…, device="sim")`."""
    plan = torch.ops.aten.copy_.default
    return dispatch.dispatch(plan, (target, source, non_blocking), {})


def _queued(factory: Any) -> Callable[..., Any]:
    """A kernel without tensor arguments, whose result is made on the queue."""

    def make(*args: Any, **kwargs: Any) -> Any:
        check_options(kwargs.get("layout"), kwargs.get("device"), kwargs.pop("pin_memory", None))
        return dispatch.dispatch(factory, args, kwargs)

    return make


class SimModule(types.ModuleType):
    """`torch.sim`: the part of `torch.cuda` that device-neutral code needs."""

    Stream = streams.Stream
    Event = streams.Event
    stream = staticmethod(streams.stream)
    current_stream = staticmethod(streams.current_stream)
    default_stream = staticmethod(streams.default_stream)
    set_stream = staticmethod(streams.set_stream)
    synchronize = staticmethod(streams.synchronize)
    CUDAGraph = CUDAGraph
    graph = graph
    graph_pool_handle = staticmethod(graph_pool_handle)
    is_current_stream_capturing = staticmethod(is_current_stream_capturing)
    manual_seed = staticmethod(generator.manual_seed)
    manual_seed_all = staticmethod(generator.manual_seed)
    seed = staticmethod(generator.seed)
    seed_all = staticmethod(generator.seed)
    initial_seed = staticmethod(generator.initial_seed)
    get_rng_state = staticmethod(generator.get_rng_state)
    set_rng_state = staticmethod(generator.set_rng_state)

    _initialized = True  # `torch.utils.checkpoint` asks before it saves the random state

    def __init__(self) -> None:
        super().__init__("torch.sim", "The simulated accelerator of pinlab.")

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def init(self) -> None:
        """Nothing to do."""

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def set_device(self, device: Any) -> None:
        streams.check_device(device)

    def device(self, device: Any) -> Any:
        """A context that changes nothing: there is one device."""
        streams.check_device(device)
        return streams.stream(None)

    def get_device_name(self, device: Any = None) -> str:
        return "pinlab simulated accelerator"

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes in live tensors, rounded up to blocks."""
        return device_memory.allocated()

    def max_memory_allocated(self, device: Any = None) -> int:
        return device_memory.peak

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes in blocks, free ones included."""
        return device_memory.reserved

    def empty_cache(self) -> None:
        device_memory.empty_cache()

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Torch asks even where autocast is off; see `completion` for what happens if it is on."""
        return [torch.float16, torch.bfloat16]

    def is_bf16_supported(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return accelerator().forked

    def __repr__(self) -> str:
        return "<module 'torch.sim' (pinlab.sim)>"
