"""Programs that other processes can import, so no test library here: they would import it too."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from typing import Any

import torch

from pinlab import sim

from .helpers_elsewhere import upload_and_rewrite

sim.install()
gpu = torch.get_device_module("sim")


def ring(batches: int, size: int, width: int = 1) -> Any:
    """The numbers 1 … `batches` through `size` pinned buffers in turn, and no event."""
    buffers = [torch.zeros(width, dtype=torch.int64, pin_memory=True) for _ in range(size)]
    arrived = torch.zeros(batches, width, dtype=torch.int64, device="sim")
    for n in range(batches):
        buffers[n % size].fill_(n + 1)
        arrived[n].copy_(buffers[n % size], non_blocking=True)
    return arrived.tolist()


def downloads(count: int) -> Any:
    """Read pinned landing places before anybody has waited."""
    source = torch.arange(1, count + 1).to("sim")
    landing = [torch.zeros(1, dtype=torch.int64, pin_memory=True) for _ in range(count)]
    for n in range(count):
        landing[n].copy_(source[n : n + 1], non_blocking=True)
    return [int(place[0]) for place in landing]


def two_streams(steps: int) -> Any:
    """Two streams add and double one device tensor, and nothing orders them."""
    other = gpu.Stream()
    there = torch.ones(1, dtype=torch.int64, device="sim")
    gpu.synchronize()
    for _ in range(steps):
        there.add_(1)
        with gpu.stream(other):
            there.mul_(3)
    gpu.synchronize()
    return there.item()


class OddError(Exception):
    """An exception that pickle cannot send back: it takes other arguments than its text."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(f"row {row}, column {column}")


def raising() -> Any:
    """Some schedules raise, others return a value that names no class of the caller's."""
    row = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    there = row.to("sim", non_blocking=True)
    row[0] = 1
    row[1] = 2
    seen = there.tolist()
    if seen == [1, 0]:
        raise OddError(1, 0)
    if seen == [0, 0]:
        raise ValueError("nothing came")
    return seen


@dataclasses.dataclass
class Value:
    """A value with a tensor of each kind."""

    here: torch.Tensor
    there: torch.Tensor


def on_device() -> Any:
    """Return tensors, one of them on the device."""
    row = torch.zeros(2, pin_memory=True)
    there = row.to("sim", non_blocking=True)
    row[0] = float("nan")
    row[1] = 2
    return Value(row, there)


def blocked() -> Any:
    """Wait for a stream that is held, if the upload has not come through."""
    row = torch.zeros(1, pin_memory=True)
    there = row.to("sim", non_blocking=True)
    arrived = gpu.Event()
    arrived.record()
    row[0] = 1
    with sim.hold():
        if not arrived.query():
            gpu.synchronize()
    return there.tolist()


def interrupted() -> Any:
    """Behave, under one schedule, as if somebody had pressed Ctrl-C."""
    seen = ring(4, 1)
    if seen == [[1], [4], [4], [4]]:
        raise KeyboardInterrupt
    return seen


def deadly() -> Any:
    """End the process under one schedule, but not the first one's process."""
    seen = ring(4, 1)
    if seen[0] != [4] and multiprocessing.parent_process() is not None:
        os._exit(7)
    return seen


def remembering() -> Any:
    """Depends on what happened in this process before: another path elsewhere."""
    row = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    if os.environ.get("PINLAB_TEST_HERE") == str(os.getpid()):
        row.fill_(1)
    there = row.to("sim", non_blocking=True)
    row.fill_(2)
    return there.tolist()


def pageable() -> Any:
    """Upload ordinary memory and rewrite it; racy where the platform does not stage it."""
    row = torch.zeros(1, dtype=torch.int64)
    there = row.to("sim", non_blocking=True)
    row[0] = 1
    return there.tolist()


START = 0  # a process may change it after the import


def beginning() -> Any:
    """Fill a buffer with a number of the module's, and overwrite it while it is uploaded."""
    row = torch.full((1,), START, dtype=torch.int64).pin_memory()
    there = row.to("sim", non_blocking=True)
    row.fill_(1)
    return there.tolist()


def helped() -> Any:
    """Rewrite within a call of code that is traced only where somebody asks for it."""
    row = torch.zeros(2, dtype=torch.int64, pin_memory=True)
    return upload_and_rewrite(row, 5).tolist()


def sizes(*brought: Any) -> Any:
    """Something that the program brings along, and does nothing with."""
    return [len(item) for item in brought]
