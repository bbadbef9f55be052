"""What watching costs: one program plain, under `hazards()` both ways, and behind the fence.

The program is 100 steps of a serving engine's kind: three pinned buffers are refilled, uploaded,
used by a kernel, and the result is fetched behind an event. All ways take turns; a ratio is that of
the medians of this run, in processor time, children included. The fence starts a process for each
run; what that costs whatever the program does stands in a line of its own.

    python -m benchmarks.bench_hazards
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.row import Row, report
from pinlab import sim
from pinlab.detect.fence import fence
from pinlab.detect.hazards import hazards

# Times the cost of the plain program. Measured 3.7, 8.6 and 1.2; the rest is room for machines.
LIMITS = {"hazards()": 6.0, "hazards(lines=True)": 15.0, "fence, its start not counted": 3.0}
STEPS, ITEMS, ROUNDS = 100, 256, 5


def program() -> None:
    """A hundred steps, each with eight host lines, three uploads, two kernels and a download."""
    buffers = [torch.zeros(ITEMS, pin_memory=True) for _ in range(3)]
    faces = [buffer.numpy() for buffer in buffers]
    landing = torch.zeros(ITEMS, pin_memory=True)
    done = torch.sim.Event()
    for step in range(STEPS):
        for face in faces:
            face[:] = step
            face[step] += 1
        a, b, c = (buffer.to("sim", non_blocking=True) for buffer in buffers)
        landing.copy_(a * b + c, non_blocking=True)
        done.record()
        done.synchronize()
        if landing[-1].item() != step * step + step:
            raise AssertionError("the program is wrong")


def watched(lines: bool) -> None:
    with hazards(lines=lines) as found:
        program()
    assert not found


def fenced(what: Callable[[], None]) -> None:
    report = fence(what)
    assert report.complete, report
    assert not report.hits, report


def nothing() -> None:
    """What the fence costs before the program begins."""


WAYS: dict[str, Callable[[], None]] = {
    "plain": program,
    "hazards()": lambda: watched(False),
    "hazards(lines=True)": lambda: watched(True),
    "fence": lambda: fenced(program),
    "fence, of nothing": lambda: fenced(nothing),
}


def seconds(work: Callable[[], None]) -> float:
    """Processor time of one call, its children's included."""
    before = _spent()
    work()
    return _spent() - before


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def rows() -> Iterator[Row]:
    """What each way costs, in times of the plain program."""
    sim.install()
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    with sim.mode("lazy"):
        for work in WAYS.values():
            work()
        for _ in range(ROUNDS):
            for name, work in WAYS.items():
                found[name].append(seconds(work))
    cost = {name: statistics.median(times) for name, times in found.items()}
    cost["fence, its start not counted"] = cost["fence"] - cost["fence, of nothing"]
    yield Row("100 steps, plain", cost["plain"] * 1e3, "ms", "reading")
    yield Row("fence: its start", cost["fence, of nothing"] * 1e3, "ms", "reading")
    for name, limit in LIMITS.items():
        yield Row(name, cost[name] / cost["plain"], "times plain", at_most=limit)


if __name__ == "__main__":
    sys.exit(report(rows()))
