"""How quick the simulated queue itself is, and how well a transfer keeps to the link's prediction.

Threaded mode. Latency is from submission on an idle device to the start of the work, on the
worker's clock; behind a hold it is from the release to the start. Throughput is of 500 small
kernels that wait behind a hold, from the start of the first to the end of the last. A transfer is
timed by the host, from the line that queues it to the end of the wait, and divided by what the link
predicts, ``latency + bytes / bandwidth``: never less than 1, and little more. Of the transfers the
quickest counts: what else runs on the machine only adds.

    python -m benchmarks.bench_queue
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.row import Row, report
from pinlab import sim
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

LAUNCHES, BATCH, TRANSFERS = 200, 500, 15
NBYTES = 1 << 20
LATENCY = 1e-3  # seconds; with the bandwidth below, NBYTES take 20 ms
BANDWIDTH = NBYTES / 19e-3
WITHIN = 1.10  # times the prediction


class Finished:
    """An observer that keeps what has run."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def submitted(self, operation: Operation) -> None: ...
    def completed(self, operation: Operation) -> None:
        self.operations.append(operation)

    def waited(self, targets: Iterable[object]) -> None: ...


def rows() -> Iterator[Row]:
    """Three readings of the queue, then upload and download against the prediction."""
    torch.set_num_threads(1)
    sim.install()
    h = torch.zeros(8, device="sim")
    h.add_(1)
    torch.sim.synchronize()
    seen = Finished()
    accelerator().observers.append(seen)
    try:
        queued = statistics.median(_after_submission(h, seen) for _ in range(LAUNCHES)) * 1e6
        yield Row("submission to start, idle queue", queued, "µs", kind="reading")
        held = statistics.median(_after_release(h, seen) for _ in range(LAUNCHES)) * 1e6
        yield Row("release of a hold to start", held, "µs", kind="reading")
        per_second = max(_throughput(h, seen) for _ in range(5))
        yield Row("a queue of small kernels", per_second, "a second", kind="reading")
    finally:
        accelerator().observers.remove(seen)
    pinned = torch.ones(NBYTES, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(NBYTES, dtype=torch.uint8, device="sim")
    for name, copy in (
        ("upload", lambda: there.copy_(pinned, non_blocking=True)),
        ("download", lambda: pinned.copy_(there, non_blocking=True)),
    ):
        ratio = _against_the_link(copy)
        note = "20 ms on the link"
        yield Row(
            f"{name}, time taken", ratio, "times predicted", at_least=1, at_most=WITHIN, note=note
        )


def _after_submission(h: torch.Tensor, seen: Finished) -> float:
    h.add_(1)
    torch.sim.synchronize()
    last = seen.operations[-1]
    return last.started - last.queued


def _after_release(h: torch.Tensor, seen: Finished) -> float:
    with sim.hold():
        h.add_(1)
        released = time.perf_counter()
    torch.sim.synchronize()
    return seen.operations[-1].started - released


def _throughput(h: torch.Tensor, seen: Finished) -> float:
    with sim.hold():
        for _ in range(BATCH):
            h.add_(1)
    torch.sim.synchronize()
    ran = seen.operations[-BATCH:]
    return BATCH / (ran[-1].ended - ran[0].started)


def _against_the_link(copy: Callable[[], object]) -> float:
    with sim.link(latency=LATENCY, bandwidth=BANDWIDTH) as link:
        return min(map(_seconds, [copy] * TRANSFERS)) / link.seconds(NBYTES)


def _seconds(copy: Callable[[], object]) -> float:
    began = time.perf_counter()
    copy()
    torch.sim.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(report(rows()))
