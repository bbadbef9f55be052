"""What copies cost and how often the race is lost, measured on this process's device.

On the simulated device these are numbers of the simulation (its link model, this machine's
threads), on CUDA they are numbers of the card. Nothing here is derived from a data sheet.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class CopyCost:
    """Medians over `repeats` copies of `nbytes` bytes.

    Attributes:
        direction: ``"upload"`` or ``"download"``.
        memory: the host's side, ``"pageable"`` or ``"pinned"``.
        returned: seconds until the call returned.
        done: seconds until the device was done.
        bandwidth: bytes per second, ``nbytes / done``.
    """

    direction: str
    memory: str
    non_blocking: bool
    nbytes: int
    repeats: int
    returned: float
    done: float
    bandwidth: float


@dataclass(frozen=True)
class RaceRate:
    """How often a pinned upload read a byte that the host wrote after the call.

    Attributes:
        copy: seconds that the copy takes when nobody disturbs it (median).
        delay: seconds from the return of the call to the host's write (median).
        rate: ``lost / tries``; `low` and `high` are its 95 % Wilson interval.
    """

    nbytes: int
    copy: float
    delay: float
    tries: int
    lost: int
    rate: float
    low: float
    high: float


def wilson(successes: int, tries: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a rate (E. B. Wilson, 1927); 95 % for the default `z`.

    >>> tuple(round(end, 3) for end in wilson(0, 10))
    (0.0, 0.278)
    >>> tuple(round(end, 3) for end in wilson(5, 10))
    (0.237, 0.763)
    """
    if not 0 <= successes <= tries or tries == 0:
        raise ValueError(f"{successes} of {tries} tries is no rate")
    rate, share = successes / tries, z * z / tries
    middle = (rate + share / 2) / (1 + share)
    half = z / (1 + share) * math.sqrt(rate * (1 - rate) / tries + share / (4 * tries))
    return max(0.0, middle - half), min(1.0, middle + half)


def copy_costs(device: torch.device, sizes: list[int], repeats: int = 20) -> list[CopyCost]:
    """Every kind of copy at every size (bytes)."""
    found = []
    for nbytes in sizes:
        there = torch.zeros(nbytes, dtype=torch.uint8, device=device)
        for memory in ("pageable", "pinned"):
            here = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=memory == "pinned")
            for direction, target, source in (("upload", there, here), ("download", here, there)):
                for non_blocking in (False, True):
                    pair = _time(device, _copy(target, source, non_blocking), repeats)
                    returned, done = pair
                    found.append(
                        CopyCost(
                            direction=direction,
                            memory=memory,
                            non_blocking=non_blocking,
                            nbytes=nbytes,
                            repeats=repeats,
                            returned=returned,
                            done=done,
                            bandwidth=nbytes / done,
                        )
                    )
    return found


def _copy(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> Callable[[], object]:
    return lambda: target.copy_(source, non_blocking=non_blocking)


def _time(device: torch.device, copy: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds until the call returned, and until the device was done."""
    gpu = torch.get_device_module(device)
    returned, done = [], []
    for number in range(repeats + 3):
        gpu.synchronize()
        began = time.perf_counter()
        copy()
        called = time.perf_counter()
        gpu.synchronize()
        over = time.perf_counter()
        if number >= 3:  # the first ones pay for threads, modules and page faults
            returned.append(called - began)
            done.append(over - began)
    return statistics.median(returned), statistics.median(done)


def race_rates(
    device: torch.device, sizes: list[int], delays: list[float], tries: int = 200
) -> list[RaceRate]:
    """Upload pinned memory, wait, overwrite its last byte: did the copy see the new one?

    Args:
        sizes: bytes.
        delays: how long the host waits before it writes, in copy times.
        tries: per size and delay.
    """
    found = []
    for nbytes in sizes:
        row = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=True)
        there = torch.zeros(nbytes, dtype=torch.uint8, device=device)
        _, copy = _time(device, _copy(there, row, True), repeats=20)
        for delay in delays:
            lost, waited = _race(device, row, there, delay * copy, tries)
            low, high = wilson(lost, tries)
            found.append(RaceRate(nbytes, copy, waited, tries, lost, lost / tries, low, high))
    return found


def _race(
    device: torch.device, row: torch.Tensor, there: torch.Tensor, delay: float, tries: int
) -> tuple[int, float]:
    gpu, face, last = torch.get_device_module(device), row.numpy(), there[-1:]
    lost, waits = 0, []
    for _ in range(tries):
        face[-1] = 1
        gpu.synchronize()
        there.copy_(row, non_blocking=True)
        called = time.perf_counter()
        while time.perf_counter() - called < delay:
            time.sleep(0)  # lets the simulated device's thread have the interpreter
        face[-1] = 2
        waits.append(time.perf_counter() - called)
        gpu.synchronize()
        lost += last.item() == 2
    return lost, statistics.median(waits)
