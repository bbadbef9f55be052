"""The knobs: running work by hand, what fills fresh memory, what is pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def _queue(stream: Any, name: str, ran: list[tuple[int, str]]) -> None:
    number = stream.stream_id
    work: Callable[[], object] = lambda: ran.append((number, name))  # noqa: E731
    accelerator().submit(Operation(name, "kernel", stream.queue, work))


# -- by hand ---------------------------------------------------------------------------------------


def test_step_runs_the_next_operation() -> None:
    with sim.mode("lazy"):
        there = torch.zeros(2, device="sim")
        there.add_(1)
        there.add_(1)
        names = [operation.name for operation in sim.step(2)]
        assert names == ["aten.zero_.default", "aten.add_.Tensor"]
        assert there._inner.tolist() == [1, 1]
        assert len(sim.step(5)) == 1
        assert sim.step() == []


def test_step_can_choose_a_stream_and_does_not_pass_a_wait() -> None:
    with sim.mode("lazy"):
        ran: list[tuple[int, str]] = []
        first, second = gpu.Stream(), gpu.Stream()
        _queue(first, "a", ran)
        second.wait_stream(first)
        _queue(second, "x", ran)
        assert sim.step(stream=second) == []
        sim.step(stream=first)
        sim.step(stream=second)
        assert ran == [(1, "a"), (2, "x")]


def test_step_passes_no_hold() -> None:
    with sim.mode("lazy"), sim.hold():
        torch.zeros(2, device="sim")
        assert sim.step() == []


def test_step_says_what_it_needs() -> None:
    with sim.mode("threaded"), pytest.raises(RuntimeError, match=r"step\(\) needs lazy mode"):
        sim.step()
    with sim.mode("lazy"), pytest.raises(ValueError, match="n=0"):
        sim.step(0)


def test_step_raises_what_went_wrong() -> None:
    with sim.mode("lazy"):
        accelerator().submit(Operation("bad", "kernel", accelerator().default, lambda: 1 / 0))
        with pytest.raises(sim.QueuedOperationError, match="bad failed"):
            sim.step()


# -- what is pending -------------------------------------------------------------------------------


def test_pending_lists_work_of_all_streams_in_order_of_submission() -> None:
    with sim.mode("lazy"):
        ran: list[tuple[int, str]] = []
        first, second = gpu.Stream(), gpu.Stream()
        for stream, name in ((first, "a"), (second, "x"), (first, "b")):
            _queue(stream, name, ran)
        second.wait_stream(first)  # marks are left out
        assert [operation.name for operation in sim.pending()] == ["a", "x", "b"]
        first.synchronize()
        assert [operation.name for operation in sim.pending()] == ["x"]


def test_pending_can_be_asked_while_threads_work() -> None:
    with sim.mode("threaded"):
        side = gpu.Stream()
        for _ in range(30):
            torch.ones(50, device="sim").add_(1)
            with gpu.stream(side):
                torch.ones(50, device="sim").add_(1)
            assert all(operation.kind == "kernel" for operation in sim.pending())
        gpu.synchronize()
        assert sim.pending() == []


# -- the fill --------------------------------------------------------------------------------------


def test_fresh_and_recycled_memory_holds_the_chosen_byte() -> None:
    for byte in (0xCD, 0x11, 0):
        sim.fill(byte)
        for _ in range(3):
            assert set(torch.empty(700, dtype=torch.uint8, device="sim").tolist()) == {byte}
            assert set(torch.empty(700, dtype=torch.uint8, pin_memory=True).tolist()) == {byte}
            torch.full((700,), 5, dtype=torch.uint8, device="sim")
            torch.full((700,), 5, dtype=torch.uint8, pin_memory=True)


def test_without_a_fill_recycled_memory_keeps_its_bytes() -> None:
    sim.fill(None)
    torch.full((700,), 5, dtype=torch.uint8, device="sim")
    torch.full((700,), 5, dtype=torch.uint8, pin_memory=True)
    assert set(torch.empty(700, dtype=torch.uint8, device="sim").tolist()) == {5}
    assert set(torch.empty(700, dtype=torch.uint8, pin_memory=True).tolist()) == {5}


def test_a_byte_is_from_0_to_255() -> None:
    for byte in (-1, 256):
        with pytest.raises(ValueError, match=f"byte={byte}"):
            sim.fill(byte)


# -- reset -----------------------------------------------------------------------------------------


def test_reset_forgets_work_streams_failures_and_seeds_the_generator() -> None:
    with sim.mode("lazy"):
        torch.sim.manual_seed(7)  # type: ignore[attr-defined]
        accelerator().submit(Operation("bad", "kernel", accelerator().default, lambda: 1 / 0))
        side = gpu.Stream()
        with gpu.stream(side):
            torch.ones(2, device="sim")
        sim.reset()
        assert sim.pending() == []
        gpu.synchronize()
        assert gpu.Stream().stream_id == 1
        first = torch.rand(3, device="sim").tolist()
        sim.reset()
        assert torch.rand(3, device="sim").tolist() == first


def test_reset_drops_queued_work_of_a_slow_link_instead_of_waiting_for_it() -> None:
    with sim.mode("threaded"), sim.link(latency=0.05):
        row = torch.ones(2, pin_memory=True)
        there = torch.zeros(2, device="sim")
        for _ in range(500):  # 25 seconds' worth
            there.copy_(row, non_blocking=True)
        sim.reset()
        assert sim.pending() == []
        assert (torch.zeros(1, device="sim") + 1).item() == 1


def test_reset_inside_a_hold_opens_it() -> None:
    with sim.hold() as gate:
        torch.ones(2, device="sim")
        sim.reset()
        assert gate.released
        assert torch.zeros(2, device="sim").tolist() == [0, 0]


def test_reset_leaves_no_threads_of_forgotten_streams() -> None:
    workers = []
    for _ in range(3):
        side = gpu.Stream()
        with gpu.stream(side):
            torch.ones(2, device="sim")
        side.synchronize()
        workers.append(side.queue.worker)
        sim.reset()
    for worker in workers:
        assert worker is not None
        worker.join(5)
        assert not worker.is_alive()
