"""Run a few lines of a lesson on the simulated device, and show who did what in which order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pinlab import sim
from pinlab.figures.show import show
from pinlab.figures.timeline import timeline

NEEDS_SIM = "This needs the simulated device: unset PINLAB_DEVICE and restart the kernel."


def show_lanes(program: Callable[..., object], /, **watched: Any) -> None:
    """Run `program` and show its timeline, with its writes to the buffers given by name.

    The device works as late as it may (mode lazy): only when the host waits. So the picture is the
    same in every run. Where the device is a GPU, the program does not run, and a line says so.

    Args:
        program: takes nothing, or the recording, so that it can note what it reads.
        watched: CPU tensors or numpy arrays.

    >>> import torch
    >>> from pinlab.device import pick_device
    >>> device = pick_device()
    >>> row = torch.tensor([3, 5, 2], pin_memory=True)
    >>> def upload_then_write():
    ...     lens = row.to(device, non_blocking=True)
    ...     row[1] = 40
    >>> show_lanes(upload_then_write, row=row)  # doctest: +ELLIPSIS
    <Figure: Timeline of 1 operation on 1 stream in 2 steps. The host writes row while copy 1 is ...
    """
    if not sim.installed():
        print(NEEDS_SIM)
        return
    wants_it = bool(inspect.signature(program).parameters)
    with sim.mode("lazy"), sim.record(**watched) as run:
        program(run) if wants_it else program()
    show(timeline(run))
