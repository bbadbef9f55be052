"""The copy table under random layouts, against brute force; tearing; what the link carries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """How to cut a view of `shape` out of a larger tensor: order of dimensions, steps, starts."""
    order = draw(st.permutations(range(len(shape))))
    steps = tuple(draw(st.sampled_from((1, 1, 1, 2))) for _ in shape)
    starts = tuple(draw(st.integers(0, 1)) for _ in shape)
    return tuple(order), steps, starts


def cut(base: Any, shape: tuple[int, ...], layout: tuple[Any, ...]) -> torch.Tensor:
    """A view of `shape` into a tensor that ``base(sizes)`` makes."""
    order, steps, starts = layout
    sizes = [start + size * step for size, step, start in zip(shape, steps, starts, strict=True)]
    whole = base([sizes[i] for i in order])
    view = whole.permute([order.index(i) for i in range(len(shape))])
    for dim, (size, step, start) in enumerate(zip(shape, steps, starts, strict=True)):
        stop = start + size * step
        view = view[tuple([slice(None)] * dim + [slice(start, stop, step)])]
    return view


shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)


@st.composite
def two_layouts(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    shape = draw(shapes)
    return shape, draw(layouts(shape)), draw(layouts(shape))


def one_run(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Brute force: do both sides lie densely, and in the same order of items?"""
    places = [[], []]
    for index in itertools.product(*map(range, left.shape)):
        for side, tensor in zip(places, (left, right), strict=True):
            side.append(sum(i * step for i, step in zip(index, tensor.stride(), strict=True)))
    relative = [[place - min(side) for place in side] for side in places]
    return relative[0] == relative[1] and sorted(relative[0]) == list(range(left.numel()))


@settings(max_examples=150)
@given(two_layouts(), st.booleans(), st.booleans())
def test_uploads_carry_the_values_and_read_late_exactly_where_torch_would(
    case: tuple[Any, Any, Any], pin: bool, convert: bool
) -> None:
    shape, source_layout, target_layout = case
    with sim.mode("lazy"):
        source = cut(lambda size: torch.zeros(size, pin_memory=pin), shape, source_layout)
        values = torch.arange(float(source.numel())).reshape(shape)
        source.copy_(values)
        dtype = torch.float64 if convert else torch.float32
        target = cut(
            lambda size: torch.zeros(size, dtype=dtype, device="sim"), shape, target_layout
        )
        gpu.synchronize()
        target.copy_(source, non_blocking=True)
        source.fill_(-1)
        direct = not convert and (source.numel() == 1 or one_run(target, source))
        late = pin and (direct or source.is_contiguous())
        wanted = torch.full(shape, -1.0) if late else values
        assert target.tolist() == wanted.tolist()


@settings(max_examples=150)
@given(two_layouts(), st.booleans(), st.booleans())
def test_downloads_carry_the_values_and_fill_late_exactly_where_torch_would(
    case: tuple[Any, Any, Any], pin: bool, convert: bool
) -> None:
    shape, source_layout, target_layout = case
    with sim.mode("lazy"):
        source = cut(lambda size: torch.zeros(size, device="sim"), shape, source_layout)
        values = torch.arange(float(source.numel())).reshape(shape)
        source.copy_(values)
        dtype = torch.float64 if convert else torch.float32
        target = cut(
            lambda size: torch.full(size, -1.0, dtype=dtype, pin_memory=pin), shape, target_layout
        )
        gpu.synchronize()
        target.copy_(source, non_blocking=True)
        direct = not convert and (source.numel() == 1 or one_run(target, source))
        late = pin and (direct or target.is_contiguous())
        assert (target.tolist() == values.tolist()) is not late
        gpu.synchronize()
        assert target.tolist() == values.tolist()


@settings(max_examples=80)
@given(two_layouts(), st.booleans(), st.booleans(), st.sampled_from(["up", "down", "across"]))
def test_every_copy_gives_what_the_cpu_gives(
    case: tuple[Any, Any, Any], pin: bool, non_blocking: bool, way: str
) -> None:
    shape, source_layout, target_layout = case
    sides = {"up": ("cpu", "sim"), "down": ("sim", "cpu"), "across": ("sim", "sim")}[way]

    def side(device: str, dtype: torch.dtype, layout: Any) -> torch.Tensor:
        def whole(size: list[int]) -> torch.Tensor:
            found = torch.arange(float(np.prod(size))).to(dtype).reshape(size)
            return found.to(device) if device == "sim" else found.pin_memory() if pin else found

        return cut(whole, shape, layout)

    source = side(sides[0], torch.float32, source_layout)
    target = side(sides[1], torch.int16, target_layout)
    wanted = side("cpu", torch.int16, target_layout).copy_(source.cpu())
    target.copy_(source, non_blocking=non_blocking)
    gpu.synchronize()
    assert target.tolist() == wanted.tolist()


# -- what crosses the link -------------------------------------------------------------------------


def queued_by(call: Any) -> list[tuple[str, int]]:
    """Names and sizes of what a call queues."""
    gpu.synchronize()
    with sim.mode("lazy"):
        call()
        return [(operation.name, operation.nbytes) for operation in sim.pending()]


def test_a_direct_copy_is_one_transfer_of_its_bytes() -> None:
    row, there = torch.zeros(10, pin_memory=True), torch.zeros(10, device="sim")
    assert queued_by(lambda: there.copy_(row, non_blocking=True)) == [("upload", 40)]
    assert queued_by(lambda: row.copy_(there, non_blocking=True)) == [("download", 40)]


def test_a_packed_source_goes_straight_into_a_contiguous_target() -> None:
    matrix, there = torch.zeros(10, 3, pin_memory=True), torch.zeros(10, device="sim")
    assert queued_by(lambda: there.copy_(matrix[:, 1], non_blocking=True)) == [("upload", 40)]


def test_a_converting_upload_carries_the_raw_bytes_and_converts_behind() -> None:
    row = torch.zeros(10, dtype=torch.uint8, pin_memory=True)
    there = torch.zeros(10, device="sim")
    assert queued_by(lambda: there.copy_(row, non_blocking=True)) == [
        ("upload", 10),
        ("aten.copy_.default", 0),
    ]


def test_a_conjugated_pinned_source_is_read_late_too() -> None:
    with sim.mode("lazy"):
        row = torch.tensor([1 + 2j, 3 - 1j], pin_memory=True)
        there = torch.zeros(2, dtype=torch.complex64, device="sim")
        there.copy_(row.conj(), non_blocking=True)
        row[0] = 9j
        assert there.tolist() == [-9j, 3 + 1j]


def test_a_copy_remembers_the_line_that_queued_it() -> None:
    row, there = torch.zeros(10, pin_memory=True), torch.zeros(10, device="sim")
    with sim.mode("lazy"):
        there.copy_(row, non_blocking=True)
        (operation,) = sim.pending()
        assert operation.queued_at.source == "there.copy_(row, non_blocking=True)"
        assert operation.queued_at.function == "test_a_copy_remembers_the_line_that_queued_it"


def test_host_footprints_say_which_bytes_are_touched_late() -> None:
    row, there = torch.zeros(10, pin_memory=True), torch.zeros(10, device="sim")
    with sim.mode("lazy"):
        there[:3].copy_(row[2:5], non_blocking=True)
        row[7:].copy_(there[:3], non_blocking=True)
        there[:3].copy_(torch.ones(3), non_blocking=True)  # staged
        up, down, staged = sim.pending()
        assert [t.data_ptr() - row.data_ptr() for t in up.host_reads] == [8]
        assert [t.data_ptr() - row.data_ptr() for t in down.host_writes] == [28]
        assert staged.host_reads == ()


# -- torn copies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("turned", [False, True])
def test_a_copy_can_be_torn_into_parts_in_address_order(count: int, turned: bool) -> None:
    matrix = torch.arange(12.0).reshape(3, 4).pin_memory()
    there = torch.full((3, 4), -1.0, device="sim")
    gpu.synchronize()
    with sim.mode("lazy"):
        if turned:
            there.t().copy_(matrix.t(), non_blocking=True)
        else:
            there.copy_(matrix, non_blocking=True)
        (operation,) = sim.pending()
        assert operation.pieces is not None
        parts = operation.pieces(count)
        assert len(parts) == min(count, 12)
        done = 0
        for part in parts:
            part()
            arrived = int((there._inner >= 0).sum())
            assert arrived > done
            assert there._inner.flatten()[:arrived].tolist() == list(range(arrived))
            done = arrived
        assert there._inner.tolist() == matrix.tolist()


def test_copies_work_under_inference_mode_and_outlive_it() -> None:
    for mode in ("threaded", "lazy", "random"):
        with sim.mode(mode):
            with torch.inference_mode():
                row, host, fixed = torch.ones(3), torch.zeros(3), torch.zeros(3, pin_memory=True)
                there = row.to("sim")
                again = torch.empty(3, device="sim").copy_(row.pin_memory(), non_blocking=True)
                host.copy_(there)
                fixed.copy_(again + 1, non_blocking=True)
                back = again.to("cpu", non_blocking=True)
            gpu.synchronize()
            there = there + 1
            assert (there.tolist(), again.tolist(), back.tolist()) == ([2] * 3, [1] * 3, [1] * 3)
            assert (host.tolist(), fixed.tolist()) == ([1] * 3, [2] * 3)


# -- mistakes --------------------------------------------------------------------------------------


def test_shapes_that_do_not_fit_are_torchs_error() -> None:
    row, there = torch.zeros(3, pin_memory=True), torch.zeros(2, device="sim")
    gpu.synchronize()
    for non_blocking in (False, True):
        with pytest.raises(RuntimeError, match="expanded size"):
            there.copy_(row, non_blocking=non_blocking)
        with pytest.raises(RuntimeError, match="expanded size"):
            row.copy_(there, non_blocking=non_blocking)
    assert sim.pending() == []


def test_other_devices_are_a_mismatch() -> None:
    with pytest.raises(sim.DeviceMismatchError, match="sim:0 and meta"):
        torch.zeros(2, device="meta").copy_(torch.zeros(2, device="sim"))
