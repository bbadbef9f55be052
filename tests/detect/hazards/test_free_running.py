"""`hazards` while a stream's own thread finishes a download: its bytes are not the host's."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import torch

from pinlab import sim
from pinlab.detect.hazards import hazards
from pinlab.device import pick_device
from pinlab.sim.accelerator import Target
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

device = pick_device()


class Bystander:
    """An observer that hears of a download's end before the tracker does, and dawdles there."""

    def __init__(self) -> None:
        self.ended, self.looked = threading.Event(), threading.Event()

    def submitted(self, operation: Operation) -> None: ...

    def waited(self, targets: Iterable[Target]) -> None: ...

    def completed(self, operation: Operation) -> None:
        if operation.kind == "download":
            self.ended.set()
            self.looked.wait(0.1)


def test_a_line_that_runs_while_a_download_is_taken_off_its_queue_wrote_nothing() -> None:
    sim.reset()
    bystander, observers = Bystander(), accelerator().observers
    landing = torch.zeros(3, pin_memory=True)
    source = torch.ones(3, device=device)
    observers.append(bystander)
    try:
        with sim.mode("threaded"), hazards(lines=True) as found:
            landing.copy_(source, non_blocking=True)
            assert bystander.ended.wait(20)
            bystander.looked.set()
            torch.sim.synchronize()
    finally:
        observers.remove(bystander)
    assert not found, str(found)
