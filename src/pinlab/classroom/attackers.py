"""Three ways to misuse a pinned buffer, each a small program for the explorer, and an honest use.

Each takes something that makes a buffer of 3 rows, and returns what the device received. A buffer
has `.np` (the rows, to look at), `with buffer.writing() as rows:` and `buffer.upload()`, which
returns a device tensor. A refusal of any kind is an answer too: an attacker that is refused goes on
without. What is not attacked: names that begin with an underscore.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from pinlab.device import pick_device
from pinlab.schedules import Report, explore, replay

STEP = [2, 4, 8]  # what the step's upload means
NEXT = 40  # what the next step writes into row 1
LIMIT = 400  # schedules


class Buffer(Protocol):
    """What an attacker knows of a buffer."""

    @property
    def np(self) -> Any:
        """The rows, to look at."""

    def writing(self) -> AbstractContextManager[Any]:
        """A block with the rows, to write."""

    def upload(self) -> torch.Tensor:
        """Queue the copy to the device."""


Make = Callable[[int], Buffer]
Attacker = Callable[[Make], list[int]]
Attacked = Callable[[], list[int]]


def honest(make: Make) -> list[int]:
    """Write, upload, read the result; twice. At the end, look at the rows."""
    buffer = make(3)
    with buffer.writing() as rows:
        rows[:] = STEP
    first = (buffer.upload() + 0).tolist()
    with buffer.writing() as rows:
        rows[1] = NEXT
    second = (buffer.upload() + 0).tolist()
    return [*first, *second, *np.asarray(buffer.np).tolist()]


def hasty(make: Make) -> list[int]:
    """Writes the next step's row as soon as the upload has been queued."""
    buffer = make(3)
    with buffer.writing() as rows:
        rows[:] = STEP
    arrived = buffer.upload() + 0  # the device's use of the rows
    try:
        with buffer.writing() as rows:
            rows[1] = NEXT
    except Exception:
        pass  # refused
    return arrived.tolist()


def hoarder(make: Make) -> list[int]:
    """Keeps every face of the rows that it ever got, and writes through each after the upload."""
    buffer = make(3)
    kept = [buffer.np, *_public(buffer)]
    with buffer.writing() as rows:
        rows[:] = STEP
        kept += [rows, rows[:], memoryview(rows), buffer.np, *_public(buffer)]
    kept += [buffer.np]
    arrived = buffer.upload() + 0
    for face in kept:
        for write in _ways(face):
            try:
                write()
            except Exception:
                continue  # refused
    return arrived.tolist()


def twice(make: Make) -> list[int]:
    """Uploads on a second stream, then on the usual one, and then writes the next step's row."""
    gpu = torch.get_device_module(pick_device())
    buffer = make(3)
    with buffer.writing() as rows:
        rows[:] = STEP
    gpu.synchronize()
    with gpu.stream(gpu.Stream()):
        first = buffer.upload() + 0
    second = buffer.upload() + 0
    try:
        with buffer.writing() as rows:
            rows[1] = NEXT
    except Exception:
        pass  # refused
    gpu.synchronize()
    return [*first.tolist(), *second.tolist()]


EXPECTED: dict[Attacker, list[int]] = {
    hasty: STEP,
    hoarder: STEP,
    twice: STEP + STEP,
}
"""Each attacker, and what the device receives if it has no success."""

HONEST = [*STEP, STEP[0], NEXT, STEP[2], STEP[0], NEXT, STEP[2]]


def attacked(make: Make, attacker: Attacker) -> Report:
    """Every schedule of one attack; `make`'s own lines are steps of the host as well.

    >>> from pinlab.serving import InFlightBuffer
    >>> attacked(lambda size: InFlightBuffer("lens", size, device=pick_device()), hasty)
    <hasty: correct in every schedule: 1 schedules run>
    """
    program, trace = _program(make, attacker)
    return explore(program, expect=EXPECTED[attacker], trace=trace, max_schedules=LIMIT)


def again(make: Make, attacker: Attacker, token: str) -> Any:
    """One schedule of `attacked(make, attacker)` once more: what the device receives under it.

    >>> from pinlab.serving import InFlightBuffer
    >>> again(lambda size: InFlightBuffer("lens", size, device=pick_device()), hasty, "h")
    [2, 4, 8]
    """
    program, trace = _program(make, attacker)
    return replay(program, token, trace=trace)


def _program(make: Make, attacker: Attacker) -> tuple[Attacked, list[Callable[..., Any]]]:
    program = partial(attacker, make)
    program.__name__ = attacker.__name__  # type: ignore[attr-defined]  # for the certificate
    return program, [attacker, *lines_of(make)]


def lines_of(make: Any) -> Iterator[Callable[..., Any]]:
    """The functions behind a class's methods, properties and context managers; or `make` itself."""
    if not isinstance(make, type):
        yield make
        return
    for member in vars(make).values():
        function = getattr(member, "fget", member)
        function = getattr(function, "__wrapped__", function)
        if hasattr(function, "__code__"):
            yield function


def _public(buffer: Buffer) -> list[Any]:
    """Arrays and host tensors that the buffer holds under a public name."""
    return [
        thing
        for name, thing in getattr(buffer, "__dict__", {}).items()
        if not name.startswith("_")
        and isinstance(thing, np.ndarray | torch.Tensor)
        and (isinstance(thing, np.ndarray) or thing.device.type == "cpu")
    ]


def _ways(face: Any) -> list[Callable[[], None]]:
    """Ways to write row 1 through something that was kept."""

    def through_torch() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of a read-only array, and goes on
            torch.from_numpy(np.asarray(face))[1] = NEXT

    def unlocked() -> None:
        face.flags.writeable = True
        face[1] = NEXT

    return [
        lambda: face.__setitem__(1, NEXT),
        lambda: memoryview(face).__setitem__(1, NEXT),
        through_torch,
        unlocked,
    ]
