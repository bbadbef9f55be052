"""An oracle for outcomes: run the program line by line and let a coin move the device.

It shares nothing with the explorer but `sys.settrace` and the device: a mode of its own that runs
random work before lines and after submissions. What it sees, a complete search must have seen.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from pinlab import sim
from pinlab.schedules.checkpoint import Checkpoint
from pinlab.schedules.values import Blocked, Outcome, Raised, detached, device_bytes, host_bytes
from pinlab.sim.accelerator import Accelerator, Target
from pinlab.sim.modes import Lazy
from pinlab.sim.operation import Operation


class Coin(Lazy):
    """Lazy, but a coin lets the device run before lines, after submissions and after waits."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.coin = random.Random(seed)
        self.chance = self.coin.choice([0.05, 0.2, 0.5])

    def toss(self, device: Accelerator) -> None:
        while self.coin.random() < self.chance:
            ready = [stream for stream in device.streams if stream.runnable]
            if not ready:
                return
            device.run_next(self.coin.choice(ready))

    def submitted(self, device: Accelerator, operation: Operation) -> None:
        super().submitted(device, operation)
        self.toss(device)

    def polled(self, device: Accelerator, target: Target) -> None:
        if self.polls >= 8:  # as patient as the explorer
            self.chance = 1.0
        self.polls += 1
        self.toss(device)

    def wait(self, device: Accelerator, targets: list[Target]) -> None:
        super().wait(device, targets)
        self.toss(device)


def walk(program: Callable[[], Any], seed: int) -> Outcome:
    """One outcome of the program, by chance."""
    from pinlab.sim.state import accelerator

    device = accelerator()
    sim.reset()
    before = Checkpoint()
    mode = Coin(seed)
    name = program.__code__.co_filename

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != name:
            return None
        if event == "line":
            with device.lock:
                mode.toss(device)
        return trace

    outer = sys.gettrace()
    with sim.mode(mode):
        sys.settrace(trace)
        try:
            value = program()
            sys.settrace(outer)
            with device.lock:
                mode.toss(device)
            value = detached(value, host_bytes)
            device.wait(device.everything())
            value = detached(value, device_bytes)
        except sim.HeldStreamError as error:
            value = Blocked(str(error.place))
        except Exception as error:
            value = Raised(error)
        finally:
            sys.settrace(outer)
    outcome = Outcome(value)
    sim.reset()
    before.restore()
    return outcome
