"""What a piece of memory is called in the user's code, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import torch

from pinlab.detect.hazards.hazard import Buffer
from pinlab.sim import Place, SimTensor
from pinlab.sim.extent import Runs, overlap, runs_of
from pinlab.sim.place import caller_frame
from pinlab.sim.state import host_memory

FRAMES, ATTRIBUTES = 6, 60  # how far outwards to look, and at how many attributes of an object


def buffer_of(tensor: torch.Tensor) -> Buffer:
    """Describe the memory behind a host tensor, or behind one that stands for device memory."""
    block = host_memory.find(tensor.data_ptr())
    return Buffer(
        name_of(runs_of(tensor)),
        tuple(tensor.shape),
        str(tensor.dtype).removeprefix("torch."),
        tensor.numel() * tensor.element_size(),
        block is not None,
    )


def allocated_at(tensor: torch.Tensor) -> Place | None:
    """The line that got a pinned block; None for other memory."""
    block = host_memory.find(tensor.data_ptr())
    return block.place if block is not None else None


def name_of(runs: Runs, frame: FrameType | None = None) -> str:
    """The variable or attribute, near the current line, whose bytes fit `runs` best."""
    best, name = 0, ""
    for candidate, value in _candidates(frame or caller_frame(2)):
        theirs = _runs(value)
        shared = sum(stop - start for start, stop in overlap(theirs, runs)) if theirs else 0
        if shared:
            score = 2 * shared - sum(stop - start for start, stop in theirs) + (1 << 40)
            if score > best:
                best, name = score, candidate
    return name


def _candidates(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    for _ in range(FRAMES):
        if frame is None:
            return
        for name, value in list(frame.f_locals.items()):
            if name.startswith("__"):
                continue
            yield name, value
            for attribute, inner in list(getattr(value, "__dict__", {}).items())[:ATTRIBUTES]:
                if not isinstance(value, (type, torch.Tensor)):
                    yield f"{name}.{attribute}", inner
        frame = frame.f_back


def _runs(value: Any) -> Runs:
    if isinstance(value, SimTensor):
        value = value._inner
    if isinstance(value, np.ndarray) or (
        isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.layout is torch.strided
    ):
        return runs_of(value)
    return ()
