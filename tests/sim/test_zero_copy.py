"""Kernels that use pinned host memory in place: when the bytes are read, who hears of it, errors.

The oracle is torch on the host: what `fn` gives for the bytes that stand there at the right moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.sim import IllegalAddressError, Platform, QueuedOperationError

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
MODES = ["eager", "lazy", "random", "threaded"]


def double(row: torch.Tensor) -> torch.Tensor:
    return row * 2


def there(*values: int) -> torch.Tensor:
    return torch.tensor(values).to("sim")


@pytest.mark.parametrize("mode", MODES)
def test_the_result_is_that_of_the_function_on_the_host(mode: str) -> None:
    rows, pick = torch.arange(12, pin_memory=True).view(3, 4), there(2, 0)
    with sim.mode(mode):
        out = torch.empty(2, 4, dtype=torch.int64, device="sim")
        sim.kernel(lambda table, index: table[index], out, rows, pick)
        assert torch.equal(out.cpu(), rows[[2, 0]])


def test_host_bytes_are_read_when_the_stream_gets_there() -> None:
    row, out = torch.tensor([5, 7], pin_memory=True), there(0, 0)
    gpu.synchronize()
    with sim.hold():
        sim.kernel(double, out, row)
        row[1] = 40
    assert out.tolist() == [10, 80]
    with sim.mode("eager"):
        sim.kernel(double, out, row)
        row[1] = 0
        assert out.tolist() == [10, 80]


def test_the_device_writes_host_memory_in_place_when_the_stream_gets_there() -> None:
    landing, source = torch.zeros(2, dtype=torch.int64, pin_memory=True), there(5, 7)
    with sim.mode("lazy"):
        sim.kernel(double, landing, source)
        assert landing.tolist() == [0, 0]
        gpu.synchronize()
        assert landing.tolist() == [10, 14]


def test_several_outputs_views_and_plain_values() -> None:
    grid = torch.arange(6, pin_memory=True).view(2, 3)
    sums, scaled = there(0, 0), torch.zeros(3, dtype=torch.int64, pin_memory=True)
    sim.kernel(lambda g, k: (g.sum(1), g[1] * k), (sums, scaled), grid, 10)
    gpu.synchronize()
    assert sums.tolist() == [3, 12]
    assert scaled.tolist() == [30, 40, 50]
    sim.kernel(double, grid[:, 1], grid[:, 2])  # neither is contiguous
    gpu.synchronize()
    assert grid.tolist() == [[0, 4, 2], [3, 10, 5]]


def test_what_is_read_and_partly_written_stands_on_both_sides() -> None:
    pages, index = torch.ones(4, dtype=torch.int64, pin_memory=True), there(2)
    sim.kernel(lambda p, i: p.index_fill(0, i, 0), pages, pages, index)
    gpu.synchronize()
    assert pages.tolist() == [1, 1, 0, 1]


def test_the_operation_says_which_bytes_it_uses_and_where_it_was_queued() -> None:
    row, landing = torch.zeros(4, pin_memory=True), torch.zeros(2, pin_memory=True)
    table, out = torch.zeros(4, device="sim"), torch.zeros(2, device="sim")
    gpu.synchronize()
    with sim.mode("lazy"):
        sim.kernel(lambda a, b: (a[:2], b[:2]), (out, landing), row[1:3], table)
        (operation,) = sim.pending()
    assert (operation.name, operation.kind, operation.lane) == (
        "kernel lambda",
        "kernel",
        "compute",
    )
    assert [t.data_ptr() for t in operation.host_reads] == [row[1:].data_ptr()]
    assert [t.data_ptr() for t in operation.host_writes] == [landing.data_ptr()]
    assert [t.data_ptr() for t in operation.device_reads] == [table.data_ptr()]
    assert [t.data_ptr() for t in operation.device_writes] == [out.data_ptr()]
    assert not operation.tracked
    assert operation.queued_at.source.startswith("sim.kernel(lambda a, b")


def test_the_host_allocator_hears_nothing_so_a_dropped_block_is_recycled() -> None:
    out = there(0)
    with sim.mode("lazy"):
        slot = torch.tensor([1], pin_memory=True)
        address = slot.data_ptr()
        sim.kernel(double, out, slot)
        del slot
        other = torch.tensor([40], pin_memory=True)
        assert other.data_ptr() == address
        assert out.tolist() == [80]
        kept = torch.tensor([1], pin_memory=True)
        there_too = kept.to("sim", non_blocking=True)  # a copy is tracked
        del kept
        torch.tensor([40], pin_memory=True)
        assert there_too.tolist() == [1]


def test_streams_and_events_order_kernels() -> None:
    row, out, side = torch.tensor([3], pin_memory=True), there(0), gpu.Stream()
    with sim.mode("lazy", order="reversed"):
        landing = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        sim.kernel(double, landing, row)
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            sim.kernel(double, out, landing)
        gpu.synchronize()
        assert out.tolist() == [12]


@pytest.mark.parametrize("which", ["input", "output"])
def test_pageable_memory_is_an_illegal_address(which: str) -> None:
    pageable, out = torch.zeros(2, 3), torch.zeros(2, 3, device="sim")
    pair = (out, pageable) if which == "input" else (pageable, out)
    with pytest.raises(IllegalAddressError) as error:
        sim.kernel(double, *pair)
    assert f"{which} 0, a tensor float32[2, 3] in pageable host memory" in str(error.value)


def test_where_pinning_silently_fails_there_is_no_memory_to_reach() -> None:
    with sim.platform(Platform(pinning=False)):
        row = torch.zeros(1, pin_memory=True)
        with pytest.raises(IllegalAddressError, match="pageable"):
            sim.kernel(double, torch.zeros(1, device="sim"), row)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda out: sim.kernel(3, out), "takes a function first, got 3"),
        (lambda out: sim.kernel(double, out, np.zeros(2)), "input 0 is a ndarray"),
        (lambda out: sim.kernel(double, out, [out]), "input 0 is a list"),
        (lambda out: sim.kernel(double, None, out), "output 0 must be a tensor, got None"),
        (lambda out: sim.kernel(double, out, torch.eye(2).to_sparse()), "is a torch.sparse_coo"),
    ],
)
def test_other_arguments_are_named(call: Callable[[Any], None], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(torch.zeros(2, device="sim"))


def test_a_function_may_not_bring_tensors_of_its_own() -> None:
    hidden, out = torch.ones(1, pin_memory=True), torch.zeros(1, device="sim")
    with pytest.raises(TypeError, match="uses 'hidden' from outside"):
        sim.kernel(lambda x: x + hidden, out, out)
    array = hidden.numpy()
    with pytest.raises(TypeError, match="uses 'array' from outside"):
        sim.kernel(lambda x: x + array[0], out, out)
    factor = 3
    sim.kernel(lambda x: x + factor, out, out)
    assert out.item() == 3


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: None, "1 tensor.* got NoneType"),
        (lambda x: x[:1], r"expected a result of \(2,\) torch.float32, got \(1,\)"),
        (lambda x: x.double(), "got .* torch.float64"),
        (lambda x: x.add_(1), "wrote its input 0"),
        (lambda x: (x, x), "got tuple"),
        (lambda x: x[5], "out of bounds"),
    ],
)
@pytest.mark.parametrize("mode", ["lazy", "threaded"])
def test_a_function_that_fails_is_named_at_the_next_wait(
    fn: Callable[..., Any], message: str, mode: str
) -> None:
    row, out = torch.zeros(2, pin_memory=True), torch.zeros(2, device="sim")
    with sim.mode(mode):
        sim.kernel(fn, out, row)
        with pytest.raises(QueuedOperationError, match=f"kernel .* failed .*{message}"):
            gpu.synchronize()
        assert (out + 1).tolist() == [1, 1]  # later work is not skipped


def test_an_empty_input_lies_nowhere() -> None:
    out = torch.ones(1, device="sim")
    sim.kernel(lambda x, y: y + x.sum(), out, torch.zeros(0, pin_memory=True), out)
    assert out.item() == 1
