"""Graphs: device work captured once and replayed, with `torch.cuda`'s names.

A graph stores addresses. A replay reads a pinned source as it is *then*, writes the same device
tensors each time, and knows nothing of what the host did while capturing. The graph keeps the
device memory that was allocated in the capture; it does not keep pinned sources alive, nor device
tensors from before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pinlab.sim.blocks import BlockPool
from pinlab.sim.capture import Capture
from pinlab.sim.errors import CaptureError
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue, Ticket
from pinlab.sim.replaying import mark, queue_again
from pinlab.sim.state import accelerator, device_memory, host_memory
from pinlab.sim.streams import Stream, current_queue, stream, synchronize


class CUDAGraph:
    """Captured work. Capture with ``with gpu.graph(g): …``, run with ``g.replay()``.

    Args:
        keep_graph: accepted; it changes nothing here.

    >>> import torch
    >>> from pinlab import sim
    >>> sim.install()
    >>> gpu = torch.get_device_module("sim")
    >>> row, g = torch.tensor([1], pin_memory=True), gpu.CUDAGraph()
    >>> with gpu.graph(g):
    ...     doubled = row.to("sim", non_blocking=True) * 2
    >>> row[0] = 7
    >>> g.replay()
    >>> doubled.tolist()
    [14]
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: Capture | None = None
        self._captured = False
        self._pool: BlockPool | None = None
        self._lanes: dict[StreamQueue, StreamQueue] = {}
        self._latest: Ticket | None = None  # the end of the latest replay

    def capture_begin(
        self, pool: BlockPool | None = None, capture_error_mode: str = "global"
    ) -> None:
        """Record what is queued on the current stream from now on, which must not be the default.

        Args:
            pool: share the memory pool of another graph, or one from `graph_pool_handle`.
            capture_error_mode: accepted; what cannot be captured is always an error here.
        """
        device, queue = accelerator(), current_queue()
        device.check_process()
        if self._captured or self._capture is not None:
            raise CaptureError("this graph was captured already; reset() it, or make another one")
        if queue is device.default:
            raise CaptureError("the default stream cannot be captured: use a stream of your own")
        if queue.capture is not None:
            raise CaptureError(f"stream {queue.index} is being captured already")
        self._pool = pool if pool is not None else BlockPool()
        self._pool.graphs += 1
        with device.lock:
            self._capture = Capture(queue, self._pool, host_memory)
            device.captures.append(self._capture)

    def capture_end(self) -> None:
        """Stop recording; from now on the graph can be replayed.

        Raises:
            CaptureError: something in the capture was not allowed, or a stream was not joined back.
        """
        capture = self._stop()
        try:
            capture.end()
        except CaptureError:
            self.reset()
            raise
        self._capture, self._captured = capture, True
        self._lanes = {queue: _lane() for queue in capture.streams[1:]}

    def _abandon(self) -> None:
        """After an exception in the capture: leave no stream behind that records."""
        if self._capture is not None and not self._captured:
            self._stop().abandon()
            self.reset()

    def _stop(self) -> Capture:
        capture, device = self._capture, accelerator()
        if capture is None or self._captured:
            raise CaptureError("capture_end() without capture_begin()")
        with device.lock:
            if capture in device.captures:
                device.captures.remove(capture)
            for observer in tuple(device.capture_observers):
                observer.capture_ended(list(_work(capture)))
        return capture

    def replay(self) -> None:
        """Queue everything that was captured on the current stream; return at once.

        A replay begins after earlier replays of the same graph, whatever their stream.

        Raises:
            CaptureError: nothing was captured, or the current stream is itself being captured.
        """
        device, queue, capture = accelerator(), current_queue(), self._capture
        if capture is None or not self._captured:
            raise CaptureError("replay() of a graph that was not captured")
        if queue.capture is not None:
            queue.capture.fail("a graph cannot be replayed inside a capture on this device")
        lanes = {capture.streams[0]: queue, **self._lanes}
        with device.lock:
            if self._latest is not None and self._latest.stream is not queue:
                device.submit(mark("wait", queue, self._latest))
            queue_again(device, capture, lanes)
            self._latest = Ticket(queue)
            device.submit(mark("record", queue, self._latest))

    def pool(self) -> BlockPool:
        """The graph's memory pool, to be passed to another capture."""
        if self._pool is None:
            raise CaptureError("pool() of a graph that was not captured")
        return self._pool

    def reset(self) -> None:
        """Forget what was captured. Replays that are queued run all the same."""
        pool, self._pool = self._pool, None
        self._capture, self._captured = None, False
        self._lanes, self._latest = {}, None
        if pool is not None:
            device_memory.leave(pool)

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self.reset()

    def __repr__(self) -> str:
        if self._capture is None or not self._captured:
            return "<pinlab.sim.CUDAGraph, not captured>"
        work = sum(1 for _ in _work(self._capture))
        return f"<pinlab.sim.CUDAGraph, {work} operation(s)>"


class graph:
    """Capture a block into a graph, as `torch.cuda.graph` does.

    It waits for the device, then records on a stream of its own.

    Args:
        cuda_graph: the graph. pool: see `CUDAGraph.capture_begin`.
        stream: on which stream to capture.

    Raises:
        CaptureError: within the block, for a wait, a query, ``.item()``, or a copy from or to
            pageable memory.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: BlockPool | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.stream = stream
        self._within: Any = None

    def __enter__(self) -> None:
        synchronize()
        self._within = stream(self.stream or Stream(queue=_lane()))
        self._within.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool)
        except BaseException:
            self._within.__exit__(None, None, None)
            raise

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                self.cuda_graph._abandon()
        finally:
            self._within.__exit__(None, None, None)


def graph_pool_handle() -> BlockPool:
    """A new memory pool, to be shared by several captures."""
    return BlockPool()


def is_current_stream_capturing() -> bool:
    """Whether work for the current stream is being recorded instead of queued."""
    return current_queue().capture is not None


def _lane() -> StreamQueue:
    """A queue that the device does not list, and does not number, before it is used."""
    device = accelerator()
    queue = StreamQueue(-1, 0, device.lock)
    queue.listed = False
    return queue


def _work(capture: Capture) -> Iterable[Operation]:
    return (entry for entry in capture.entries if not entry.is_mark)
