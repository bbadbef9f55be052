"""A record of what host and device did, for timelines and tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from pinlab.sim.accelerator import Target
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place, caller_frame, caller_place, is_internal, place_of
from pinlab.sim.state import accelerator


@dataclass(frozen=True)
class HostEvent:
    """Something the host did: ``kind`` is "write", "wait" or "note"; ``time`` in seconds."""

    kind: str
    label: str
    time: float
    place: Place


@dataclass
class Recording:
    """Operations in order of submission, and the host's events. Times are `time.perf_counter`."""

    operations: list[Operation] = field(default_factory=list)
    host: list[HostEvent] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    ended: float = float("nan")

    def submitted(self, operation: Operation) -> None:
        if not operation.is_mark:
            self.operations.append(operation)

    def completed(self, operation: Operation) -> None:
        """Operations carry their own times."""

    def waited(self, targets: Iterable[Target]) -> None:
        streams = ", ".join(str(stream.index) for stream, _ in targets)
        event = HostEvent("wait", f"stream {streams}", time.perf_counter(), caller_place())
        self.host.append(event)

    def note(self, label: str) -> None:
        """Add a remark at this moment, e.g. ``run.note("step 2 begins")``."""
        self.host.append(HostEvent("note", label, time.perf_counter(), caller_place()))

    def __repr__(self) -> str:
        return f"<recording: {len(self.operations)} operations, {len(self.host)} host events>"


@contextmanager
def record(**watched: Any) -> Iterator[Recording]:
    """Record a block. Host tensors and arrays given by name are watched for writes, line by line.

    >>> from pinlab import sim
    >>> sim.install()
    >>> row = torch.zeros(2, pin_memory=True)
    >>> with sim.mode("lazy"), record(row=row) as run:
    ...     on_device = row.to("sim", non_blocking=True)
    ...     _ = row.fill_(7)
    >>> run
    <recording: 1 operations, 1 host events>
    """
    recording = Recording()
    device = accelerator()
    watch = _Watch(recording, watched) if watched else None
    device.observers.append(recording)
    if watch is not None:
        watch.start(caller_frame(3))
    try:
        yield recording
    finally:
        if watch is not None:
            watch.stop()
        device.observers.remove(recording)
        recording.ended = time.perf_counter()


class _Watch:
    """Compares watched bytes after every host line of user code."""

    def __init__(self, recording: Recording, watched: dict[str, Any]) -> None:
        self.recording = recording
        self.views = {name: _bytes_of(value) for name, value in watched.items()}
        self.last = {name: bytes(view) for name, view in self.views.items()}
        self.place = Place("<unknown>", 0)

    def start(self, frame: FrameType | None) -> None:
        self.frame = frame
        self.outer = sys.gettrace()
        self.outer_local = frame.f_trace if frame is not None else None
        self.place = place_of(frame)
        sys.settrace(self._call)
        if frame is not None:
            frame.f_trace = self._line

    def stop(self) -> None:
        sys.settrace(self.outer)
        if self.frame is not None:
            self.frame.f_trace = self.outer_local
        self._compare()

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return None if is_internal(frame.f_code.co_filename) else self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self._compare()
        if event == "line":
            self.place = place_of(frame)
        return self._line

    def _compare(self) -> None:
        for name, view in self.views.items():
            now = bytes(view)
            if now != self.last[name]:
                self.last[name] = now
                event = HostEvent("write", name, time.perf_counter(), self.place)
                self.recording.host.append(event)


def _bytes_of(value: Any) -> memoryview:
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise TypeError(f"only host memory can be watched, not a tensor on {value.device}")
        value = value.detach().numpy()
    return memoryview(value).cast("B") if memoryview(value).c_contiguous else _strided(value)


def _strided(value: Any) -> memoryview:
    raise ValueError(f"can only watch contiguous memory, got strides {memoryview(value).strides}")
