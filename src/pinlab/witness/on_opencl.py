"""The program on an OpenCL queue.

The OpenCL specification on ``clEnqueueWriteBuffer``: after a non-blocking write the memory behind
the pointer must not be reused until the command has completed, which its event tells
(https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clEnqueueWriteBuffer.html). So the alias
breaks a rule, and the other two keep it. The rule promises nothing about *what* is read if it is
broken: that is for the driver, and is looked at here.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import numpy as np

from pinlab.witness.opencl import find_context, library

SECONDS = 10.0  # until a command that can run is called overdue
KERNEL = """
__kernel void busy(__global int *out, int turns) {
    int x = out[0];
    for (int i = 0; i < turns; i++) x = x * 1103515245 + 12345;
    out[0] = x;
}
"""


class OverdueError(RuntimeError):
    """A command did not complete in time."""


class OpenCLQueue:
    """An in-order queue with one buffer; a context manager, which opens the gate at its end.

    Attributes:
        opens_at: the moment (0 … `MOMENTS` - 1) at which the upload may run, and is waited for.
            None: there is no gate, the upload runs when the driver likes.
        turns: of a loop in a kernel that is queued before the upload; 0 queues none.

    Raises:
        OpenCLMissingError: without PyOpenCL or PoCL.
    """

    def __init__(self, opens_at: int | None = None, turns: int = 0) -> None:
        if turns < 0:
            raise ValueError(f"turns={turns}; it must be 0 or more")
        self._cl = library()
        self._context = find_context()
        self._queue = self._cl.CommandQueue(self._context)
        self.opens_at = opens_at
        self.turns = turns
        # An event that the host completes: nothing that waits for it starts before.
        self._gate = None if opens_at is None else self._cl.UserEvent(self._context)
        self._upload: OpenCLUpload | None = None

    def rows(self, lengths: tuple[int, ...]) -> Any:
        """Return ordinary numpy memory, int32."""
        return np.array(lengths, dtype=np.int32)

    def upload(self, source: Any) -> OpenCLUpload:
        """``clEnqueueWriteBuffer``, non-blocking, behind the kernel and the gate, if any."""
        flags = self._cl.mem_flags
        self._received = np.zeros_like(source)
        self._buffer = self._cl.Buffer(self._context, flags.READ_WRITE, source.nbytes)
        if self.turns:
            self._keep_busy()
        waits = [] if self._gate is None else [self._gate]
        event = self._cl.enqueue_copy(
            self._queue, self._buffer, source, is_blocking=False, wait_for=waits
        )
        self._queue.flush()
        self._upload = OpenCLUpload(self, event)
        return self._upload

    def at(self, moment: int) -> None:
        """Open the gate if this is its moment, and let the upload run to its end."""
        if moment == self.opens_at and self._upload is not None:
            self._upload.wait()

    def download(self) -> list[int]:
        """Read the buffer behind everything that was queued."""
        if self._upload is None:
            raise RuntimeError("nothing was uploaded, so there is nothing to download")
        self.open()
        event = self._cl.enqueue_copy(self._queue, self._received, self._buffer, is_blocking=False)
        self.finish(event, "download")
        lengths: list[int] = self._received.tolist()
        return lengths

    def open(self) -> None:
        """Open the gate, if there is one that is closed."""
        complete = self._cl.command_execution_status.COMPLETE
        if self._gate is not None and self._gate.command_execution_status != complete:
            self._gate.set_status(complete)

    def finish(self, event: Any, what: str) -> None:
        """Wait for an event, no longer than `SECONDS`.

        Raises:
            OverdueError: naming the command, if it is still not complete then.
        """
        self._queue.flush()
        complete = self._cl.command_execution_status.COMPLETE
        limit = time.monotonic() + SECONDS
        while event.command_execution_status != complete:
            if time.monotonic() > limit:
                raise OverdueError(f"the {what} is not complete after {SECONDS:g} s")
            time.sleep(0)
        event.wait()  # asking for the status is no point of synchronisation, waiting is

    def _keep_busy(self) -> None:
        """Queue a kernel that computes for `turns` turns of a loop."""
        kernel = _kernel(self._cl, self._context)
        scratch = self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, 4)
        kernel(self._queue, (1,), None, scratch, np.int32(self.turns))

    def __enter__(self) -> OpenCLQueue:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.open()

    def __del__(self) -> None:
        # PyOpenCL waits for a copy when its event is dropped: a closed gate would never let it go.
        if hasattr(self, "_gate"):
            self.open()

    def __repr__(self) -> str:
        gate = "no gate" if self.opens_at is None else f"gate opens at moment {self.opens_at}"
        return f"<OpenCLQueue on {self._context.devices[0].name.strip()}: {gate}>"


class OpenCLUpload:
    """A write that has been queued, with its event."""

    def __init__(self, queue: OpenCLQueue, event: Any) -> None:
        self._queue, self._event = queue, event

    def wait(self) -> None:
        """Open the gate (nobody else could), then wait for the write to complete."""
        self._queue.open()
        self._queue.finish(self._event, "upload")


_BUILT: dict[int, Any] = {}


def _kernel(cl: Any, context: Any) -> Any:
    """The kernel, compiled once in a context; PoCL keeps the binary in its cache."""
    if context.int_ptr not in _BUILT:
        _BUILT[context.int_ptr] = cl.Kernel(cl.Program(context, KERNEL).build(), "busy")
    return _BUILT[context.int_ptr]
