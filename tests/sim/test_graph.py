"""Capture and replay: what is recorded, what is refused, what a replay reads, whose memory it is.

The oracle for values is the same program run without a graph.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim import CaptureError

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
MODES = ["eager", "lazy", "random", "threaded"]
FILL = -842150451


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, pin_memory=True)


def device(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32).to("sim")


def test_the_device_part_is_recorded_and_the_host_part_runs() -> None:
    g, row, there, log = gpu.CUDAGraph(), pinned(1), device(0), []
    with gpu.graph(g):
        there.copy_(row, non_blocking=True)
        doubled = there * 2
        log.append("host")
        row[0] = 5
        assert gpu.is_current_stream_capturing()
    assert not gpu.is_current_stream_capturing()
    assert (log, row.tolist(), there.tolist()) == (["host"], [5], [0])
    assert doubled.tolist() == [FILL]  # an output is a static tensor, without a value so far
    assert repr(g) == "<pinlab.sim.CUDAGraph, 2 operation(s)>"
    g.replay()
    assert doubled.tolist() == [10]


@pytest.mark.parametrize("mode", MODES)
def test_a_replay_reads_its_sources_anew_into_the_same_tensors(mode: str) -> None:
    g, row, total = gpu.CUDAGraph(), pinned(0), device(0)
    with sim.mode(mode):
        with gpu.graph(g):
            there = row.to("sim", non_blocking=True)
            total.add_(there)
        address = there.data_ptr()
        for step in (1, 2, 3):
            row[0] = step
            g.replay()
            gpu.synchronize()
            assert there.tolist() == [step]
        assert total.tolist() == [6]
        assert there.data_ptr() == address


@pytest.mark.parametrize("mode", MODES)
def test_forks_and_joins_are_kept_and_nothing_else_orders_the_branches(mode: str) -> None:
    g, side, x = gpu.CUDAGraph(), gpu.Stream(), device(3)
    with gpu.graph(g):
        main = gpu.current_stream()
        side.wait_stream(main)
        with gpu.stream(side):
            assert gpu.is_current_stream_capturing()
            tripled = x * 3
        doubled = x * 2
        main.wait_stream(side)
        result = doubled + tripled
    gpu.synchronize()
    with sim.mode(mode):
        x.fill_(5)
        g.replay()
        assert result.tolist() == [25]
        x.fill_(6)
        g.replay()
        assert result.tolist() == [30]
    with sim.mode("lazy"):
        g.replay()
        streams = [operation.stream.index for operation in sim.pending()]
    assert len(set(streams)) == 2


def test_replays_of_one_graph_follow_each_other_on_any_streams() -> None:
    g, x, side = gpu.CUDAGraph(), device(1), gpu.Stream()
    with gpu.graph(g):
        x.mul_(3).add_(1)
    gpu.synchronize()
    with sim.mode("lazy", order="reversed"):
        g.replay()
        with gpu.stream(side):
            g.replay()
        g.replay()
        gpu.synchronize()
        assert x.tolist() == [40]


def test_random_numbers_are_drawn_by_each_replay_as_they_would_be_without_a_graph() -> None:
    g = gpu.CUDAGraph()
    with gpu.graph(g):
        x = torch.rand(3, device="sim")
        y = torch.randn_like(x)
    for seed in (0, 1):
        torch.manual_seed(seed)
        expected = [(torch.rand(3, device="sim"), torch.randn(3, device="sim")) for _ in range(2)]
        torch.manual_seed(seed)
        for first, second in expected:
            g.replay()
            assert torch.equal(x, first)
            assert torch.equal(y, second)


def test_kernels_views_and_raw_copies_are_captured_as_well() -> None:
    g, row, landing, there = gpu.CUDAGraph(), pinned(1), pinned(0), device(0)
    view = sim.uva_view(row)
    with gpu.graph(g):
        sim.kernel(lambda a: a + 1, there, row)
        there.mul_(view)
        sim.memcpy_async(landing.data_ptr(), there.data_ptr(), 4)
    row[0] = 4
    g.replay()
    gpu.synchronize()
    assert landing.tolist() == [20]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (lambda row, there, event: there.item(), "pageable"),
        (lambda row, there, event: there.tolist(), "pageable"),
        (lambda row, there, event: there.to("cpu", non_blocking=False), "pageable"),
        (lambda row, there, event: torch.zeros(1).to("sim"), "pageable host memory cannot"),
        (lambda row, there, event: torch.zeros(1).to("sim", non_blocking=True), "pageable"),
        (lambda row, there, event: sim.memcpy_async(there, torch.zeros(1).int()), "pageable"),
        (lambda row, there, event: row.to("sim"), "cannot be waited for"),
        (lambda row, there, event: there.nonzero(), "cannot be waited for"),
        (lambda row, there, event: gpu.synchronize(), "cannot be waited for while"),
        (lambda row, there, event: gpu.current_stream().synchronize(), "cannot be waited for"),
        (lambda row, there, event: gpu.current_stream().query(), "cannot be asked about"),
        (lambda row, there, event: gpu.Event().record().synchronize(), None),
        (lambda row, there, event: gpu.current_stream().wait_event(event), "outside of it"),
        (lambda row, there, event: sim.hold().__enter__(), "a hold cannot be part"),
    ],
)
def test_what_needs_the_host_cannot_be_captured(line: Any, message: str | None) -> None:
    row, there = pinned(1), device(1)
    event = gpu.current_stream().record_event()
    g = gpu.CUDAGraph()
    if message is None:

        def line(row: Any, there: Any, event: Any) -> None:
            gpu.current_stream().record_event().synchronize()

        message = "cannot be waited for by the host"
    with pytest.raises(CaptureError, match=message), gpu.graph(g):
        line(row, there, event)
    assert not gpu.is_current_stream_capturing()
    with pytest.raises(CaptureError, match="not captured"):
        g.replay()
    assert (there + 1).tolist() == [2]  # the device works as before


def test_an_error_that_is_caught_spoils_the_capture_all_the_same() -> None:
    there, g = device(1), gpu.CUDAGraph()

    def try_both() -> None:
        for line in (there.item, there.nonzero):
            with contextlib.suppress(CaptureError):
                line()

    with pytest.raises(CaptureError, match=r"failed before: .*pageable"), gpu.graph(g):
        try_both()
    with gpu.graph(g):
        there.add_(1)
    g.replay()
    assert there.item() == 2


def test_an_exception_of_the_program_passes_through() -> None:
    g = gpu.CUDAGraph()
    with pytest.raises(ZeroDivisionError), gpu.graph(g):
        torch.zeros(1, device="sim").fill_(1 / 0)
    assert gpu.current_stream() == gpu.default_stream()
    gpu.synchronize()
    assert repr(g) == "<pinlab.sim.CUDAGraph, not captured>"


def test_a_stream_that_joined_must_be_joined_back() -> None:
    g, side, x = gpu.CUDAGraph(), gpu.Stream(), device(1)

    def fork() -> None:
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            x.add_(1)

    with pytest.raises(CaptureError, match="joined the capture"), gpu.graph(g):
        fork()
    with gpu.stream(side):
        x.add_(1)
    gpu.synchronize()
    assert x.tolist() == [2]


def test_events_of_a_capture_are_of_no_use_outside() -> None:
    g, event = gpu.CUDAGraph(), gpu.Event(enable_timing=True)
    with gpu.graph(g):
        event.record()
    assert repr(event) == "<pinlab.sim.Event on stream -1, captured>"
    for use in (event.synchronize, event.query, event.wait, lambda: event.elapsed_time(event)):
        with pytest.raises(CaptureError, match="capture"):
            use()
    event.record()
    event.synchronize()


def test_mistakes_with_graphs_are_named() -> None:
    g, there = gpu.CUDAGraph(), device(1)
    with pytest.raises(CaptureError, match="not captured"):
        g.replay()
    with pytest.raises(CaptureError, match="pool"):
        g.pool()
    with pytest.raises(CaptureError, match="without capture_begin"):
        g.capture_end()
    with pytest.raises(CaptureError, match="default stream"):
        g.capture_begin()
    with gpu.graph(g):
        there.add_(1)
    with pytest.raises(CaptureError, match="already"), gpu.graph(g):
        pass
    with pytest.raises(CaptureError, match="inside a capture"), gpu.graph(gpu.CUDAGraph()):
        g.replay()
    g.reset()
    with gpu.graph(g):
        there.add_(2)
    g.replay()
    assert there.item() == 3


def test_begin_and_end_by_hand_on_a_stream_of_ones_own() -> None:
    g, side, x = gpu.CUDAGraph(), gpu.Stream(), device(1)
    gpu.synchronize()
    with gpu.stream(side):
        g.capture_begin()
        x.add_(1)
        g.capture_end()
    other = gpu.CUDAGraph()
    with gpu.graph(other, stream=side):
        assert gpu.current_stream() == side
        x.mul_(10)
    g.replay()
    other.replay()
    assert x.item() == 20


# -- whose memory ---------------------------------------------------------------------------------


def test_device_memory_of_the_capture_is_the_graphs_own() -> None:
    g, x = gpu.CUDAGraph(), torch.ones(300, device="sim")
    with gpu.graph(g):
        temporary = x * 2
        result = temporary + 1
    address = temporary.data_ptr()
    del temporary
    taken = [torch.zeros(300, device="sim") for _ in range(4)]
    assert address not in [tensor.data_ptr() for tensor in taken]
    g.replay()
    assert result.sum().item() == 900
    assert all(tensor.sum().item() == 0 for tensor in taken)


def test_memory_that_is_freed_within_a_capture_is_reused_within_it() -> None:
    g, x = gpu.CUDAGraph(), torch.ones(300, device="sim")
    with gpu.graph(g):
        first = x * 2
        address = first.data_ptr()
        total = first.sum()
        del first
        second = x * 5
        assert second.data_ptr() == address
    g.replay()
    assert (total.item(), second.sum().item()) == (600, 1500)


def test_two_graphs_with_one_pool_share_what_is_free_and_may_overwrite_each_other() -> None:
    first, second, x = gpu.CUDAGraph(), gpu.CUDAGraph(), torch.ones(300, device="sim")
    with gpu.graph(first, pool=gpu.graph_pool_handle(), stream=(side := gpu.Stream())):
        inner = x * 2
        kept = inner.data_ptr()
        outer = inner + 1
    del inner
    with gpu.graph(second, pool=first.pool(), stream=side):
        other = x * 7
    assert other.data_ptr() == kept
    second.replay()
    assert other.sum().item() == 2100
    first.replay()
    assert other.sum().item() == 600  # that is what sharing a pool means
    assert outer.sum().item() == 900


def test_the_pool_ends_with_its_last_graph() -> None:
    x = torch.ones(3000, device="sim")
    gpu.empty_cache()
    before = gpu.memory_reserved()
    g = gpu.CUDAGraph()
    with gpu.graph(g):
        result = x * 2
    assert gpu.memory_reserved() > before
    del result
    g.replay()
    gpu.synchronize()
    del g
    gc.collect()
    gpu.empty_cache()
    assert gpu.memory_reserved() == before


def test_a_static_input_of_before_is_not_kept() -> None:
    g = gpu.CUDAGraph()
    static = torch.ones(300, device="sim")
    with gpu.graph(g):
        doubled = static * 2
    del static
    gpu.synchronize()
    other = torch.full((300,), 5.0, device="sim")
    g.replay()
    assert doubled.sum().item() == 3000
    assert other.sum().item() == 1500


def test_a_pinned_source_is_not_kept() -> None:
    def upload(keep: list[Any]) -> tuple[Any, Any]:
        g, there = gpu.CUDAGraph(), device(0)
        with gpu.graph(g):
            source = pinned(1)
            there.copy_(source, non_blocking=True)
            keep.append(source)
        return g, there

    g, there = upload([])
    pinned(9)  # takes the block, and leaves it again
    g.replay()
    assert there.tolist() == [9]
    kept: list[Any] = []
    g, there = upload(kept)
    pinned(9)
    g.replay()
    assert there.tolist() == [1]


def test_a_reset_of_the_device_ends_captures_and_keeps_graphs() -> None:
    g, x, half = gpu.CUDAGraph(), device(2), gpu.CUDAGraph()
    with gpu.graph(g):
        doubled = x * 2
    side = gpu.Stream()
    side.__enter__()
    half.capture_begin()
    sim.reset()
    assert not gpu.is_current_stream_capturing()
    gpu.synchronize()
    g.replay()
    assert doubled.tolist() == [4]


def test_other_streams_work_on_while_one_is_captured() -> None:
    g, x, side = gpu.CUDAGraph(), device(1), gpu.Stream()
    with gpu.graph(g):
        x.add_(1)
        with gpu.stream(side):
            y = torch.ones(1, device="sim") * 3
            side.synchronize()
            assert y.item() == 3
    g.replay()
    assert x.item() == 2


def test_a_failing_operation_fails_in_each_replay() -> None:
    g, row = gpu.CUDAGraph(), pinned(5)
    out = device(0)
    fail: Callable[..., Any] = lambda r: r[r[0]]  # noqa: E731
    with gpu.graph(g):
        sim.kernel(fail, out, row)
    for _ in range(2):
        g.replay()
        with pytest.raises(sim.QueuedOperationError, match="out of bounds"):
            gpu.synchronize()
