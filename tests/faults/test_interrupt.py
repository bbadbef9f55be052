"""Ctrl-C, as the signal that it is: what waits ends at once, and the device can be used after."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore
from pinlab.sim.modes import MODES
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
MAIN = threading.main_thread()

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="needs signals to a thread"
)


@pytest.fixture(autouse=True)
def _main_thread() -> None:
    if threading.current_thread() is not MAIN:
        pytest.skip("only the main thread gets signals")


def press() -> None:
    """What the terminal does, and Jupyter's stop button."""
    signal.pthread_kill(MAIN.ident, signal.SIGINT)


def queue_press(caught: threading.Event, stream: Any = None) -> None:
    """Queue an operation in which Ctrl-C is pressed, once the main thread waits for the device."""

    def work() -> None:
        if threading.current_thread() is MAIN:  # the host thread runs the work, so it is waiting
            press()
            return
        while MAIN not in accelerator().waiting:
            time.sleep(0.001)
        press()
        caught.wait(20)  # the wait is over before this operation is

    queue = (stream or gpu.current_stream()).queue
    accelerator().submit(Operation("pressing", "kernel", queue, work))


def hear_of(failures: int) -> None:
    """In lazy modes the operation in whose middle it was pressed counts as failed."""
    for _ in range(failures):
        with pytest.raises(sim.QueuedOperationError, match="pressing failed"):
            gpu.synchronize()
    gpu.synchronize()


WAITS: dict[str, Callable[[torch.Tensor], object]] = {
    "synchronize": lambda there: gpu.synchronize(),
    "stream.synchronize": lambda there: gpu.current_stream().synchronize(),
    "event.synchronize": lambda there: gpu.current_stream().record_event().synchronize(),
    "item": lambda there: there[0].item(),
    "blocking upload": lambda there: there.copy_(torch.ones(2)),
    "nonzero": lambda there: there.nonzero(),
}


@pytest.mark.parametrize("mode", ["threaded", "lazy"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_ends_and_what_was_queued_still_runs(wait: str, mode: str) -> None:
    threads = threading.active_count()
    with sim.mode(mode):
        caught = threading.Event()
        there = torch.ones(2, device="sim")
        gpu.synchronize()
        queue_press(caught)
        there.add_(1)
        with pytest.raises(KeyboardInterrupt):
            WAITS[wait](there)
        assert accelerator().waiting == set()
        caught.set()
        hear_of(1 if mode == "lazy" else 0)
        gpu.synchronize()
        assert there.tolist() in ([2, 2], [1, 1])  # [1, 1]: the upload was queued already
        assert (there.zero_() + 1).tolist() == [1, 1]
    assert threading.active_count() <= threads + 1  # the default stream's own


def leave_a_hold(mode: str, there: torch.Tensor) -> None:
    with sim.mode(mode):
        with sim.hold():
            queue_press(threading.Event())
            there.add_(1)
        gpu.synchronize()  # in lazy and random mode it runs here


def leave_a_mode(mode: str, there: torch.Tensor) -> None:
    with sim.mode("lazy"), sim.mode(mode):
        queue_press(threading.Event())
        there.add_(1)


@pytest.mark.parametrize("mode", ["eager", "lazy", "random"])
@pytest.mark.parametrize("leave", [leave_a_hold, leave_a_mode])
def test_pressed_in_work_that_the_end_of_a_block_lets_run(
    leave: Callable[[str, torch.Tensor], None], mode: str
) -> None:
    outer, there = accelerator().mode, torch.ones(2, device="sim")
    with pytest.raises(KeyboardInterrupt):
        leave(mode, there)
    assert accelerator().mode is outer
    assert accelerator().holds == []
    hear_of(1)
    assert there.tolist() in ([2, 2], [1, 1])  # [1, 1]: pressed before it could be queued


def test_pressed_inside_a_hold_the_gate_opens_and_another_threads_wait_ends() -> None:
    there, found = torch.zeros(2, device="sim"), []
    thread = threading.Thread(target=lambda: found.append(there.tolist()))

    def hold() -> None:
        with sim.hold(timeout=60):
            there.add_(1)
            thread.start()
            while thread not in accelerator().waiting:
                time.sleep(0.001)
            press()

    with pytest.raises(KeyboardInterrupt):
        hold()
    thread.join(20)
    assert found == [[1, 1]]


def ring() -> Any:
    row = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    there = torch.zeros(4, dtype=torch.int64, device="sim")
    for n in range(4):
        row.fill_(n)
        there[n : n + 1].copy_(row, non_blocking=True)
    return there.tolist()


def test_pressed_during_a_search_it_ends_with_a_part_and_the_device_is_as_before() -> None:
    runs, mode = iter(range(1000)), accelerator().mode

    def program() -> Any:
        if next(runs) == 5:
            press()
        return ring()

    report = explore(program)
    assert report.interrupted
    assert not report.complete
    assert not report.correct
    assert accelerator().mode is mode
    assert sim.pending() == []
    assert explore(ring).complete


class Presser:
    """Presses some time after `begin`, again each half second until `heard` says it came through.

    Once is not always enough: Python ignores what is raised in a destructor.
    """

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.begun, self.noted = threading.Event(), threading.Event()
        self.begin = self.begun.set
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        self.begun.wait()
        time.sleep(self.delay)
        press()
        while not self.noted.wait(0.5):
            press()

    def heard(self) -> None:
        self.noted.set()
        self.thread.join()


def busy(row: torch.Tensor, there: torch.Tensor, streams: list[Any]) -> None:
    """Everything that a program does with the device, for ever."""
    while True:
        for stream in streams:
            with gpu.stream(stream):
                there.copy_(row, non_blocking=True)
                event = gpu.current_stream().record_event()
                there + 1
        event.synchronize()
        there.sum().item()
        with sim.hold():
            there.add_(1)
        gpu.synchronize()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pressed_at_any_moment_the_device_can_be_used_after() -> None:
    dice, row = random.Random(0), torch.ones(1000, pin_memory=True)
    there, streams = torch.zeros(1000, device="sim"), [gpu.Stream() for _ in range(3)]
    outer = accelerator().mode
    for _ in range(1000):
        presser = Presser(dice.random() * 0.01)
        try:
            presser.begin()
            with sim.mode(dice.choice([*MODES])):
                busy(row, there, streams)
        except KeyboardInterrupt:
            presser.heard()
        assert accelerator().mode is outer
        assert accelerator().holds == []
        assert gpu.current_stream() == gpu.default_stream()
        while True:
            try:
                gpu.synchronize()
                break
            except sim.QueuedOperationError:  # what ran just then
                continue
        for stream in (gpu.default_stream(), *streams):
            with gpu.stream(stream):
                assert (there.zero_() + 1).tolist() == [1] * 1000
