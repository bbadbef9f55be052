"""Autograd's own thread: which stream its work goes to.

Torch runs the backward pass of a device on a thread of its own. Its work is queued on the stream
of the gradient that it starts from (the current stream of whoever called ``backward()``, unless a
gradient was passed in), after everything that other streams have queued by then. A simplification:
CUDA runs each backward operator on the stream of its forward operator, and orders as needed.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from pinlab.sim.results import flat
from pinlab.sim.state import accelerator
from pinlab.sim.streams import Stream, set_stream
from pinlab.sim.tensor import SimTensor

_local = threading.local()


def enter_backward(args: tuple[Any, ...]) -> None:
    """Called for each operator of a backward pass; at the first one, choose and order a stream."""
    task = torch._C._current_graph_task_id()
    if getattr(_local, "task", -1) == task:
        return
    _local.task = task
    if not isinstance(threading.current_thread(), threading._DummyThread):
        return  # one of Python's threads: it has a current stream of its own
    first = next((value for value in flat(args) if isinstance(value, SimTensor)), None)
    if first is not None:
        _work_on(Stream(queue=first._memory.block.stream))


def _work_on(stream: Stream) -> None:
    device = accelerator()
    with device.lock:
        others = [queue for queue in device.streams if queue.pending and queue is not stream.queue]
    for queue in others:
        stream.wait_stream(Stream(queue=queue))
    set_stream(stream)
