"""When queued work runs: the four modes, and running it by hand."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.modes import MODES, Mode
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))
ALL = [("threaded", {}), ("eager", {}), ("lazy", {}), ("lazy", {"order": "reversed"})] + [
    ("random", {"seed": seed}) for seed in range(3)
]


def two_streams() -> list[tuple[int, str]]:
    """Queue five operations on two streams, wait for all, and say in which order they ran."""
    ran: list[tuple[int, str]] = []
    first, second = gpu.Stream(), gpu.Stream()
    for name in "abc":
        _queue(first, name, ran)
    for name in "xy":
        _queue(second, name, ran)
    gpu.synchronize()
    return ran


def _queue(stream: Any, name: str, ran: list[tuple[int, str]]) -> None:
    number = stream.stream_id
    work: Callable[[], object] = lambda: ran.append((number, name))  # noqa: E731
    accelerator().submit(Operation(name, "kernel", stream.queue, work))


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after so long."""
    timer = threading.Timer(seconds, lambda: signal.raise_signal(signal.SIGINT))
    if hasattr(signal, "pthread_kill"):
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(seconds, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


# -- every mode ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), ALL)
def test_every_mode_gives_the_same_result_to_a_right_program(
    name: str, options: dict[str, Any]
) -> None:
    with sim.mode(name, **options):
        row = torch.arange(6.0).pin_memory()
        side = gpu.Stream()
        there = row.to("sim", non_blocking=True)
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            total = (there * 2).sum()
        gpu.current_stream().wait_stream(side)
        back = (total + there).to("cpu", non_blocking=True)
        gpu.synchronize()
        row.fill_(0)
        assert back.tolist() == [30, 31, 32, 33, 34, 35]


@pytest.mark.parametrize(("name", "options"), ALL)
def test_leaving_and_entering_a_mode_lets_queued_work_run(
    name: str, options: dict[str, Any]
) -> None:
    with sim.mode("lazy"):
        before = torch.zeros(2, device="sim")
        with sim.mode(name, **options):
            assert sim.pending() == []  # `before` ran on entry
            inside = before + 1
        assert sim.pending() == []
        assert inside._inner.tolist() == [1, 1]  # without any wait


@pytest.mark.parametrize("name", MODES)
def test_held_work_stays_queued_across_a_change_of_mode(name: str) -> None:
    stream = gpu.Stream()
    with sim.hold(stream):
        with gpu.stream(stream):
            there = torch.ones(2, device="sim")
        with sim.mode(name):
            assert len(sim.pending()) == 1
        assert len(sim.pending()) == 1
    stream.synchronize()
    assert there.tolist() == [1, 1]


@pytest.mark.parametrize("name", MODES)
def test_an_exception_inside_a_mode_puts_the_old_mode_back(name: str) -> None:
    outer = accelerator().mode
    with pytest.raises(ZeroDivisionError), sim.mode(name):
        raise ZeroDivisionError
    assert accelerator().mode is outer


@pytest.mark.parametrize("name", MODES)
def test_a_loop_on_query_ends(name: str) -> None:
    with sim.mode(name):
        side, event = gpu.Stream(), gpu.Event()
        with gpu.stream(side):
            torch.ones(1000, device="sim").sum()
        gpu.current_stream().wait_stream(side)
        torch.ones(2, device="sim").add_(1)
        event.record()
        began = time.monotonic()
        while not event.query():
            assert time.monotonic() - began < 20


def test_modes_nest() -> None:
    with sim.mode("lazy") as outer:
        with sim.mode("random", seed=4) as inner:
            assert accelerator().mode is inner
        assert accelerator().mode is outer
        assert (repr(outer), repr(inner)) == ("lazy", "random, seed 4")


def test_unknown_modes_and_options_are_refused() -> None:
    with pytest.raises(ValueError, match="mode 'fast'; known are 'threaded', 'eager', 'lazy'"):
        sim.mode("fast").__enter__()
    with pytest.raises(ValueError, match="order='backwards'; lazy mode knows 'creation'"):
        sim.mode("lazy", order="backwards").__enter__()
    with pytest.raises(TypeError):
        sim.mode("eager", seed=1).__enter__()


def test_an_exclusive_mode_cannot_be_replaced_inside() -> None:
    class Explorer(Mode):
        name = "explored"
        exclusive = True

    with (
        sim.mode(Explorer()),
        pytest.raises(RuntimeError, match="explored mode decides itself"),
        sim.mode("lazy"),
    ):
        pass


# -- threaded --------------------------------------------------------------------------------------


def test_threaded_work_runs_without_any_wait() -> None:
    with sim.mode("threaded"):
        event = gpu.Event()
        there = torch.ones(3, device="sim") + 1
        event.record()
        began = time.monotonic()
        while not event.query():
            assert time.monotonic() - began < 20
            time.sleep(0.001)
        assert there._inner.tolist() == [2, 2, 2]


def test_threads_start_on_first_use_one_a_stream() -> None:
    with sim.mode("threaded"):
        side, unused = gpu.Stream(), gpu.Stream()
        with gpu.stream(side):
            torch.ones(3, device="sim")
        side.synchronize()
        assert side.queue.worker is not None
        assert side.queue.worker.daemon
        assert side.queue.worker.name == "sim-stream-1"
        assert unused.queue.worker is None


def test_a_thread_that_died_is_replaced() -> None:
    class Faulty:
        def submitted(self, operation: Operation) -> None: ...
        def waited(self, targets: object) -> None: ...
        def completed(self, operation: Operation) -> None:
            raise OSError("an observer failed")

    said: list[Any] = []
    device, faulty, hook = accelerator(), Faulty(), threading.excepthook
    threading.excepthook = said.append
    try:
        device.observers.append(faulty)
        there = torch.ones(3, device="sim")
        gpu.synchronize()
        device.observers.remove(faulty)
        assert (there + 1).tolist() == [2, 2, 2]
    finally:
        threading.excepthook = hook
    assert [args.exc_type for args in said] == [OSError]


@pytest.mark.parametrize("name", ["threaded", "lazy"])
def test_ctrl_c_during_a_wait_leaves_a_usable_device(name: str) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread gets signals")
    with sim.mode(name):
        row = torch.ones(2, pin_memory=True)
        side = gpu.Stream()
        with sim.hold(side, timeout=20, release_after=15):
            with gpu.stream(side):
                there = row.to("sim", non_blocking=True)
            with pytest.raises(KeyboardInterrupt), interrupted_after(0.1):
                side.synchronize()
            assert len(sim.pending()) == 1
        side.synchronize()
        assert (there + 1).tolist() == [2, 2]


def test_ctrl_c_inside_an_operation_counts_as_its_failure() -> None:
    def pressed() -> None:
        raise KeyboardInterrupt

    with sim.mode("lazy"):
        there = torch.ones(2, device="sim")
        accelerator().submit(Operation("slow", "kernel", accelerator().default, pressed))
        after = there + 1
        with pytest.raises(KeyboardInterrupt):
            gpu.synchronize()
        with pytest.raises(sim.QueuedOperationError, match=r"slow failed .* KeyboardInterrupt"):
            gpu.synchronize()
        assert after.tolist() == [2, 2]


# -- lazy ------------------------------------------------------------------------------------------


def test_lazy_runs_nothing_before_somebody_waits() -> None:
    with sim.mode("lazy"):
        there = torch.zeros(2, device="sim") + 1
        event = gpu.Event()
        event.record()
        assert [operation.name for operation in sim.pending()][-1] == "aten.add.Tensor"
        assert not event.query()
        assert there.tolist() == [1, 1]
        assert event.query()


def test_lazy_runs_only_what_a_wait_needs() -> None:
    with sim.mode("lazy"):
        ran: list[tuple[int, str]] = []
        first, second, third = gpu.Stream(), gpu.Stream(), gpu.Stream()
        _queue(first, "needed", ran)
        event = first.record_event()
        _queue(first, "later", ran)
        second.wait_event(event)
        _queue(second, "waits", ran)
        _queue(third, "unrelated", ran)
        second.synchronize()
        assert ran == [(1, "needed"), (2, "waits")]


def test_a_device_wide_wait_takes_streams_in_order_of_creation_or_reversed() -> None:
    with sim.mode("lazy"):
        assert two_streams() == [(1, "a"), (1, "b"), (1, "c"), (2, "x"), (2, "y")]
    sim.reset()
    with sim.mode("lazy", order="reversed"):
        assert two_streams() == [(2, "x"), (2, "y"), (1, "a"), (1, "b"), (1, "c")]


def test_reversed_order_also_holds_when_the_mode_is_left() -> None:
    ran: list[tuple[int, str]] = []
    with sim.mode("lazy", order="reversed"):
        for name in "ab":
            _queue(gpu.Stream(), name, ran)
    assert ran == [(2, "b"), (1, "a")]


def test_reversed_order_respects_events() -> None:
    with sim.mode("lazy", order="reversed"):
        ran: list[tuple[int, str]] = []
        first, second = gpu.Stream(), gpu.Stream()
        _queue(first, "before", ran)
        second.wait_stream(first)
        _queue(second, "after", ran)
        _queue(first, "free", ran)
        gpu.synchronize()
        assert ran == [(1, "before"), (2, "after"), (1, "free")]


# -- eager -----------------------------------------------------------------------------------------


def test_eager_runs_at_submission() -> None:
    with sim.mode("eager"):
        row = torch.tensor([5, 7], pin_memory=True)
        there = row.to("sim", non_blocking=True)
        assert sim.pending() == []
        row.fill_(0)
        assert there.tolist() == [5, 7]


def test_eager_runs_held_work_at_the_release() -> None:
    with sim.mode("eager"):
        row = torch.tensor([5, 7], pin_memory=True)
        with sim.hold():
            there = row.to("sim", non_blocking=True)
            row.fill_(0)
            assert len(sim.pending()) == 1
        assert sim.pending() == []
        assert there.tolist() == [0, 0]


# -- random ----------------------------------------------------------------------------------------


def order_of(seed: int) -> list[tuple[int, str]]:
    sim.reset()
    with sim.mode("random", seed=seed):
        return two_streams()


def test_the_same_seed_gives_the_same_run() -> None:
    for seed in range(8):
        assert order_of(seed) == order_of(seed)


def test_seeds_give_different_runs_and_each_keeps_the_order_of_its_streams() -> None:
    runs = {tuple(order_of(seed)) for seed in range(30)}
    assert len(runs) >= 5
    for run in runs:
        assert [name for number, name in run if number == 1] == ["a", "b", "c"]
        assert [name for number, name in run if number == 2] == ["x", "y"]


def test_a_random_race_can_go_either_way() -> None:
    outcomes = set()
    for seed in range(20):
        with sim.mode("random", seed=seed):
            row = torch.tensor([5], pin_memory=True)
            there = row.to("sim", non_blocking=True)
            row.fill_(40)
            outcomes.add(there.item())
    assert outcomes == {5, 40}


def test_device_work_that_waits_for_the_device_is_an_error_and_no_deadlock() -> None:
    for name in MODES:
        with sim.mode(name):
            stream = accelerator().default
            accelerator().submit(Operation("wait", "kernel", stream, gpu.synchronize))
            with pytest.raises(sim.QueuedOperationError, match="cannot wait for the device"):
                gpu.synchronize()
