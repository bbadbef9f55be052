"""The program on the simulated device, and what the explorer says can come out."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.schedules import Report, explore
from pinlab.witness.program import FIRST, next_batch


class SimQueue:
    """The current stream of the simulated device; rows are pinned, so that uploads read them late.

    >>> SimQueue()
    <SimQueue: nothing uploaded>
    """

    def __init__(self) -> None:
        sim.install()
        self._there: torch.Tensor | None = None  # int32, (rows,)

    def rows(self, lengths: tuple[int, ...]) -> Any:
        """Return the numpy face of pinned rows."""
        return torch.tensor(lengths, dtype=torch.int32, pin_memory=True).numpy()

    def upload(self, source: Any) -> SimUpload:
        """Queue the upload. A numpy copy of the rows is pageable, so it is taken at once."""
        self._there = torch.from_numpy(source).to("sim", non_blocking=True)
        return SimUpload(torch.get_device_module("sim").Event())

    def at(self, moment: int) -> None:
        """Nothing to do: the explorer moves the device's work between the program's lines."""

    def download(self) -> list[int]:
        """Wait for the stream and return the lengths."""
        if self._there is None:
            raise RuntimeError("nothing was uploaded, so there is nothing to download")
        received: list[int] = self._there.tolist()
        return received

    def __repr__(self) -> str:
        return f"<SimQueue: {'nothing' if self._there is None else 'lengths'} uploaded>"


class SimUpload:
    """An upload with an event recorded behind it."""

    def __init__(self, event: Any) -> None:
        self._event = event
        event.record()

    def wait(self) -> None:
        """Wait for the event."""
        self._event.synchronize()


def listed(repair: str = "alias", pieces: int = 1) -> Report:
    """Explore the program on the simulated device.

    Args:
        pieces: 1 for an upload in one go; 3 lets each row be read at a moment of its own.

    >>> sorted(outcome.value for outcome in listed("alias").outcomes)
    [[2, 4, 8], [3, 4, 8], [3, 5, 8], [3, 5, 9]]
    >>> listed("snapshot").deterministic
    True
    """

    def program() -> list[int]:
        return next_batch(SimQueue(), repair)

    return explore(program, expect=list(FIRST), pieces=pieces, trace=[next_batch])
