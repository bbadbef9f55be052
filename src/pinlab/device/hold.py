"""`hold`: stop a stream so that the host can act first, on the simulated device and on CUDA."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch

from pinlab import sim
from pinlab.device.driver import Driver, library_name, load_library
from pinlab.device.gate import FLAGS, CudaGate, Gatekeeper
from pinlab.sim.hold import check_times
from pinlab.sim.place import Place, caller_place


class Gate(Protocol):
    """What ``with hold() as gate`` gives.

    Attributes:
        released: whether the stream may go on. Right after a call, ``not gate.released`` says that
            the call returned although the stream was held: it did not wait.
        method: how the stream is held, in words.
    """

    released: bool

    @property
    def method(self) -> str: ...


@contextmanager
def hold(
    stream: Any = None,
    timeout: float = 10.0,
    release_after: float | None = None,
    warmup: Callable[[], object] | None = None,
) -> Iterator[Gate]:
    """Stop `stream` (the current one if None) until the block ends.

    Inside, only pinned copies between existing tensors, and kernels that ran once before, are
    promised not to wait for the stream. Other streams go on; on CUDA those that share a hardware
    queue with the held one may not (``CUDA_DEVICE_MAX_CONNECTIONS``, at most 32, says how many
    queues there are).

    Args:
        stream: a stream of this process's device.
        timeout: seconds. On CUDA the stream is released then, with a warning; on the simulated
            device a wait of another thread gives up then, with an error.
        release_after: release the stream after so many seconds, at most `timeout`, although the
            block goes on.
        warmup: called once before, with the stream not held, and waited for: first runs may wait.

    Raises:
        HeldStreamError: on the simulated device, for a wait that only the end of the block could
            end. CUDA cannot know that; there the timeout ends it.
        ValueError: for a `timeout` or a `release_after` out of range.
        RuntimeError: if there is no device, or none that can be held.

    >>> import torch
    >>> from pinlab.device import hold, pick_device
    >>> gpu = torch.get_device_module(pick_device())
    >>> with hold(release_after=0.05) as gate:
    ...     gpu.synchronize()
    ...     gate.released
    True
    """
    if sim.installed():
        with sim.hold(stream, timeout, release_after, warmup) as gate:
            yield gate
        return
    if not torch.cuda.is_available():
        raise RuntimeError("there is no device to hold: call pinlab.device.pick_device() first")
    check_times(timeout, release_after)
    place = caller_place()
    stream = stream if stream is not None else torch.cuda.current_stream()
    with torch.cuda.device(stream.device), ExitStack() as after:
        keeper = _keeper(stream.device.index)
        if warmup is not None:
            warmup()
            torch.cuda.synchronize()
        gate_ = close(keeper, stream, place, timeout, release_after, after)
        yield gate_


def close(
    keeper: Gatekeeper,
    stream: Any,
    place: Place,
    timeout: float,
    release_after: float | None,
    after: ExitStack,
) -> CudaGate:
    """Close a gate; `after` will open it and stop the timers that would open it earlier."""
    gate = keeper.close(stream, place)
    after.callback(gate.release)

    def give_up() -> None:
        if gate.release():
            message = f"the stream held here was released after {timeout:g} s: the block still runs"
            warnings.warn_explicit(message, RuntimeWarning, place.filename, place.lineno)

    actions: list[tuple[float, Callable[[], object]]] = [(timeout, give_up)]
    if release_after is not None:
        actions.append((release_after, gate.release))
    for seconds, action in actions:
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()
        after.callback(timer.cancel)
    return gate


_keepers: dict[int, Gatekeeper] = {}


def _keeper(index: int) -> Gatekeeper:
    """The gatekeeper of one CUDA device, made on first use."""
    if index not in _keepers:
        library = load_library()
        if library is None:
            raise RuntimeError(f"cannot hold a stream: there is no driver library {library_name()}")
        page = torch.zeros(FLAGS, dtype=torch.int32, device="cpu", pin_memory=True)
        _keepers[index] = Gatekeeper(Driver(library), index, page, _passed)
    return _keepers[index]


def _passed(stream: Any) -> Callable[[], bool]:
    event: Any = torch.cuda.Event()
    event.record(stream)
    return lambda: bool(event.query())
