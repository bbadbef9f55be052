"""Queues: order, marks, and when a recycled block gets its fill."""

from __future__ import annotations

import torch

from pinlab import sim
from pinlab.sim.operation import Operation
from pinlab.sim.place import Place
from pinlab.sim.queue import HoldMark, StreamQueue, Ticket
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def recorded(stream: StreamQueue) -> Ticket:
    """Queue an event record by hand."""
    mark = Operation("record", "record", stream, None)
    mark.guard = ticket = Ticket(stream)
    accelerator().submit(mark)
    return ticket


def test_sequence_numbers_count_work_and_marks_alike() -> None:
    with sim.mode("lazy"):
        stream = accelerator().default
        before = stream.submitted
        x = torch.zeros(4, device="sim") + 1
        ticket = recorded(stream)
        assert ticket.seq == stream.submitted == before + 3  # zeros, add, record
        assert (stream.completed, ticket.done) == (before, False)
        assert x.tolist() == [1] * 4
        assert (ticket.done, stream.idle) == (True, True)


def test_marks_at_the_head_pass_at_once() -> None:
    with sim.mode("lazy"):
        assert recorded(accelerator().default).done
        assert sim.pending() == []


def test_a_running_entry_stays_at_the_head_until_it_is_done() -> None:
    seen = []
    stream = accelerator().default

    def look() -> None:
        seen.append((stream.running, stream.pending[0], stream.runnable, stream.idle))

    work = accelerator().submit(Operation("look", "kernel", stream, look))
    gpu.synchronize()
    assert seen == [(work, work, False, False)]
    assert (stream.running, stream.idle, work.done) == (None, True, True)


def test_clear_forgets_entries_and_opens_what_others_may_wait_for() -> None:
    device, stream = accelerator(), accelerator().default
    gate = HoldMark(stream, Place("here.py", 1), deadline=1e18, timed=False)
    mark = Operation("hold", "hold", stream, None)
    mark.guard = gate
    with device.lock:
        device.submit(mark)
        torch.ones(2, device="sim")
        ticket = recorded(stream)
        assert not ticket.done
        stream.clear()
    assert (ticket.done, gate.released, stream.idle, len(stream.pending)) == (True, True, True, 0)


def test_reprs_say_how_far_a_queue_got() -> None:
    with sim.mode("lazy"):
        there = torch.ones(2, device="sim")
        (operation,) = sim.pending()
        assert "pending" in repr(operation)
        assert "test_queue.py:" in repr(operation)
        assert repr(accelerator().default).startswith("<stream 0: 1 pending")
        there.tolist()
        assert "done" in repr(operation)


# -- the fill of recycled blocks -------------------------------------------------------------------

RECYCLED = [0xCDCDCDCD - (1 << 32)] * 4


def recycled() -> torch.Tensor:
    """An uninitialised tensor on a block that held something else before."""
    torch.full((4,), 7, dtype=torch.int32, device="sim")  # made and freed
    return torch.empty(4, dtype=torch.int32, device="sim")


def test_a_recycled_block_is_filled_at_once_if_its_stream_is_past_its_last_use() -> None:
    torch.full((4,), 7, dtype=torch.int32, device="sim")
    gpu.synchronize()
    with sim.mode("lazy"):
        other = gpu.Stream()
        found = torch.empty(4, dtype=torch.int32, device="sim")
        with gpu.stream(other):
            found.fill_(1)  # no order with the default stream is needed: it is idle
        other.synchronize()
        torch.zeros(1, device="sim").tolist()  # later work of the stream that owns the block
        assert found.tolist() == [1] * 4


def test_a_recycled_block_is_filled_before_streams_that_wait_for_its_owner() -> None:
    for order in ("creation", "reversed"):
        with sim.mode("lazy", order=order):
            other = gpu.Stream()
            found = recycled()
            other.wait_stream(gpu.current_stream())
            with gpu.stream(other):
                found.fill_(1)
            gpu.synchronize()
            torch.zeros(1, device="sim").tolist()
            assert found.tolist() == [1] * 4


def test_a_recycled_block_is_filled_at_the_latest_when_its_stream_runs_dry() -> None:
    with sim.mode("lazy"):
        found = recycled()
        gpu.synchronize()
        other = gpu.Stream()
        with gpu.stream(other):
            found.fill_(1)
        other.synchronize()
        torch.zeros(1, device="sim").tolist()
        assert found.tolist() == [1] * 4


def test_a_recycled_block_holds_the_fill_if_nobody_writes_it() -> None:
    for mode in ("threaded", "lazy", "eager", "random"):
        with sim.mode(mode):
            assert recycled().tolist() == RECYCLED, mode


def test_earlier_work_still_sees_the_old_bytes_of_a_recycled_block() -> None:
    with sim.mode("lazy"):
        old = torch.full((4,), 7, dtype=torch.int32, device="sim")
        kept = old + 1
        del old
        found = torch.empty(4, dtype=torch.int32, device="sim")
        assert kept.tolist() == [8] * 4
        assert found.tolist() == RECYCLED
