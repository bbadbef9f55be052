"""Two host threads, forked children, and programs under every schedule the threads may take."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, Dataset

from pinlab import sim
from pinlab.sim.modes import MODES
from pinlab.sim.state import accelerator
from tests.threads import together

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads after almost every instruction."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


# -- two host threads ------------------------------------------------------------------------------


def chain(seed: int, own_stream: bool) -> None:
    """Uploads, kernels and downloads whose result is known."""
    dice = random.Random(seed)
    stream = gpu.Stream() if own_stream else gpu.current_stream()
    with gpu.stream(stream):
        for _ in range(12):
            size = dice.choice((3, 200, 1000))
            row = torch.full((size,), float(dice.randrange(100)), pin_memory=True)
            there = row.to("sim", non_blocking=True)
            there = (there + 1) * 2
            back = there.to("cpu", non_blocking=True)
            wanted = (row[0].item() + 1) * 2
            del row
            stream.synchronize()
            assert back.tolist() == [wanted] * size


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("own_stream", [False, True])
def test_three_threads_may_use_the_device_at_once(mode: str, own_stream: bool) -> None:
    with sim.mode(mode), frequent_switches():
        together(*(lambda seed=seed: chain(seed, own_stream) for seed in range(3)))


def test_a_thread_may_change_the_mode_while_others_work() -> None:
    def change() -> None:
        for mode in (*MODES, *MODES):
            with sim.mode(mode):
                torch.ones(3, device="sim").add_(1)

    with frequent_switches():
        together(lambda: chain(0, True), lambda: chain(1, True), change)


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("then", MODES)
def test_a_wait_goes_on_when_another_thread_changes_the_mode(first: str, then: str) -> None:
    found: list[Any] = []
    with sim.mode(first):
        there = torch.zeros(3, device="sim")
        with sim.hold() as gate:
            there.add_(1)
            thread = threading.Thread(target=lambda: found.append(there.tolist()))
            thread.start()
            while accelerator().waiting == set():
                assert thread.is_alive()
            with sim.mode(then):
                accelerator().release(gate)
                thread.join(10)
                assert not thread.is_alive()
    assert found == [[1.0] * 3]


def test_one_thread_waits_for_what_another_queued() -> None:
    there, event, recorded = torch.zeros(3, device="sim"), gpu.Event(), threading.Event()
    found = []

    def queue() -> None:
        with gpu.stream(gpu.Stream()):
            for _ in range(50):
                there.add_(1)
            event.record()
        recorded.set()

    def wait() -> None:
        assert recorded.wait(10)
        event.synchronize()
        found.append(there.tolist())

    for mode in ("threaded", "lazy"):
        with sim.mode(mode):
            there.zero_()
            gpu.synchronize()
            recorded.clear()
            together(queue, wait)
    assert found == [[50.0] * 3] * 2


def test_holds_of_two_threads_do_not_concern_each_other() -> None:
    def hold_and_work(value: int) -> None:
        stream = gpu.Stream()
        row = torch.zeros(3, pin_memory=True)
        for _ in range(10):
            with gpu.stream(stream):
                with sim.hold():
                    there = row.to("sim", non_blocking=True)
                    row.fill_(value)
                assert there.tolist() == [value] * 3

    with frequent_switches():
        together(lambda: hold_and_work(1), lambda: hold_and_work(2))


def test_backward_runs_on_autograds_own_thread() -> None:
    for mode in MODES:
        with sim.mode(mode):
            weight = torch.ones(3, device="sim", requires_grad=True)
            for _ in range(3):
                (weight * torch.arange(3.0).to("sim")).sum().backward()
            assert weight.grad is not None
            assert weight.grad.tolist() == [0, 3, 6]


# -- right programs --------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["upload", "kernel", "download", "host", "free"]),
        st.integers(0, 1),  # which stream
        st.integers(0, 2),  # which buffer
        st.integers(1, 9),
    ),
    max_size=14,
)


class Host:
    """The oracle: everything at once, on the CPU."""

    def __init__(self) -> None:
        self.rows = [torch.zeros(4) for _ in range(3)]
        self.there = [torch.zeros(4) for _ in range(3)]

    def step(self, kind: str, stream: int, buffer: int, value: int) -> None:
        row, there = self.rows[buffer], self.there[buffer]
        if kind == "upload":
            there.copy_(row)
        elif kind == "kernel":
            there.mul_(2).add_(value)
        elif kind == "download":
            row.copy_(there)
        elif kind == "host":
            row.fill_(value)
        else:
            self.there[buffer] = there * 1


class Device:
    """The same on two streams, with one event per buffer: whoever uses a buffer waits for it."""

    def __init__(self) -> None:
        self.rows = [torch.zeros(4, pin_memory=True) for _ in range(3)]
        self.there = [torch.zeros(4, device="sim") for _ in range(3)]
        self.streams = [gpu.Stream(), gpu.Stream()]
        self.events = [gpu.Event() for _ in range(3)]
        gpu.synchronize()

    def step(self, kind: str, stream: int, buffer: int, value: int) -> None:
        row, there, event = self.rows[buffer], self.there[buffer], self.events[buffer]
        if kind == "host":
            event.synchronize()
            row.fill_(value)
            return
        with gpu.stream(self.streams[stream]):
            gpu.current_stream().wait_event(event)
            if kind == "upload":
                there.copy_(row, non_blocking=True)
            elif kind == "kernel":
                there.mul_(2).add_(value)
            elif kind == "download":
                row.copy_(there, non_blocking=True)
            else:
                there.record_stream(gpu.current_stream())
                self.there[buffer] = there * 1
            event.record()


@settings(max_examples=60)
@given(STEPS, st.sampled_from([*MODES, "reversed"]), st.integers(0, 5))
def test_a_program_with_the_right_events_gives_the_cpus_result_in_every_mode(
    steps: list[tuple[str, int, int, int]], mode: str, seed: int
) -> None:
    options = {"random": {"seed": seed}, "reversed": {"order": "reversed"}}.get(mode, {})
    with sim.mode("lazy" if mode == "reversed" else mode, **options):
        host, device = Host(), Device()
        for step in steps:
            host.step(*step)
            device.step(*step)
        gpu.synchronize()
        assert [t.tolist() for t in device.there] == [t.tolist() for t in host.there]
        assert [t.tolist() for t in device.rows] == [t.tolist() for t in host.rows]


# -- forked children -------------------------------------------------------------------------------


def in_a_child(work: Any) -> str:
    """What `work` returns or raises in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found


FORKED = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@FORKED
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("lock_is_held", [False, True])
def test_a_forked_child_is_refused_and_the_parent_unharmed(lock_is_held: bool) -> None:
    there = torch.ones(3, device="sim")
    event = gpu.current_stream().record_event()
    there.tolist()
    uses = (
        lambda: there + 1,
        there.tolist,
        lambda: torch.zeros(2, device="sim"),
        lambda: torch.zeros(2, pin_memory=True),
        gpu.synchronize,
        gpu.Stream,
        event.query,
        event.record,
        sim.reset,
        sim.step,
        lambda: sim.mode("lazy").__enter__(),
        lambda: sim.hold().__enter__(),
    )
    let_go = threading.Event()

    def hold_the_lock() -> None:
        with accelerator().lock:
            taken.set()
            let_go.wait(30)

    taken = threading.Event()
    thread = threading.Thread(target=hold_the_lock)
    if lock_is_held:  # as a worker may hold it at the moment of the fork
        thread.start()
        assert taken.wait(10)
    try:
        for use in uses:
            assert in_a_child(use).startswith("ForkedProcessError: "), use
    finally:
        let_go.set()
        if lock_is_held:
            thread.join()
    assert in_a_child(lambda: torch.ones(3).sum().item()) == "3.0"  # the CPU is free
    assert (there + 1).tolist() == [2, 2, 2]


@FORKED
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_inside_blocks_can_leave_them() -> None:
    def leave() -> str:
        block.__exit__(None, None, None)
        mode.__exit__(None, None, None)
        return f"left, {sim.pending()[0].name} stays with the parent"

    mode, block = sim.mode("threaded"), sim.hold()
    mode.__enter__()
    block.__enter__()
    there = torch.ones(3, device="sim")
    try:
        assert in_a_child(leave) == "left, aten.fill_.Scalar stays with the parent"
    finally:
        block.__exit__(None, None, None)
        mode.__exit__(None, None, None)
    assert there.tolist() == [1, 1, 1]


class Rows(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), index)


@FORKED
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_with_forked_workers_pins_its_batches(workers: int) -> None:
    torch.ones(2, device="sim").tolist()
    options: dict[str, Any] = {"multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(Rows(), batch_size=4, num_workers=workers, pin_memory=True, **options)
    total = torch.zeros(3, dtype=torch.int64, device="sim")
    for batch in loader:
        assert batch.is_pinned()
        total += batch.to("sim", non_blocking=True).sum(0)
    assert total.tolist() == [66, 66, 66]
