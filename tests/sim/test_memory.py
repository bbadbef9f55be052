"""Device tensors and their blocks: fresh and recycled memory, sizes that change."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
FILL = -842150451  # four bytes 0xCD as an int32


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 5000])
def test_fresh_and_recycled_memory_hold_the_fill(size: int) -> None:
    for _ in range(3):
        there = torch.empty(size, dtype=torch.int32, device="sim")
        assert there.tolist() == [FILL] * size
        there.fill_(1)
        del there


def test_the_fill_can_be_chosen_or_left_out() -> None:
    sim.fill(0xFF)
    torch.empty(8, dtype=torch.int32, device="sim").fill_(1)
    assert torch.empty(8, dtype=torch.int32, device="sim").tolist() == [-1] * 8
    sim.fill(None)
    torch.empty(8, dtype=torch.int32, device="sim").fill_(7)
    assert torch.empty(8, dtype=torch.int32, device="sim").tolist() == [7] * 8


def test_a_dead_tensors_block_is_handed_out_again_and_views_keep_it_alive() -> None:
    there = torch.zeros(300, device="sim")
    address, view = there.data_ptr(), there[10:20]
    del there
    assert torch.empty(300, device="sim").data_ptr() != address
    assert view.tolist() == [0.0] * 10
    del view
    assert torch.empty(300, device="sim").data_ptr() == address


def test_recycling_while_work_is_queued_is_in_stream_order() -> None:
    with sim.mode("lazy"):
        x = torch.arange(4.0, device="sim")
        doubled = x * 2
        temporary = doubled + 1
        address, total = temporary.data_ptr(), temporary.sum()
        del temporary
        reused = doubled * 100
        assert reused.data_ptr() == address
        assert total.item() == 16.0
        assert reused.tolist() == [0.0, 200.0, 400.0, 600.0]


def test_memory_is_counted_in_blocks() -> None:
    before = gpu.memory_allocated()
    there = torch.empty(200, device="sim")
    assert gpu.memory_allocated() - before == 1024
    view = there[5:]
    assert gpu.memory_allocated() - before == 1024
    del there, view
    gc.collect()
    assert gpu.memory_allocated() == before


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=3),
    st.sampled_from([torch.int8, torch.float64]),
)
@settings(max_examples=30, deadline=None)
def test_layouts_of_empty_tensors_are_torchs(size: list[int], dtype: torch.dtype) -> None:
    here, there = torch.empty(size, dtype=dtype), torch.empty(size, dtype=dtype, device="sim")
    assert (there.shape, there.stride(), there.dtype) == (here.shape, here.stride(), here.dtype)
    strided = torch.empty_strided(size, here.stride(), dtype=dtype, device="sim")
    assert strided.stride() == here.stride()


def test_memory_formats() -> None:
    there = torch.empty(2, 3, 4, 5, device="sim", memory_format=torch.channels_last)
    assert there.is_contiguous(memory_format=torch.channels_last)
    assert torch.empty_like(there).stride() == there.stride()
    assert torch.empty_permuted((2, 3), (1, 0), device="sim").stride() == (1, 2)


@pytest.mark.parametrize(
    "options",
    [{"layout": torch.sparse_coo}, {"layout": torch.sparse_csr}],
)
def test_other_layouts_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match="Sparse"):
        torch.empty(2, 2, device="sim", **options)


# -- sizes that change -----------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_resizing_agrees_with_the_cpu(data: st.DataObject) -> None:
    """Where the bytes were written before; torch leaves the others as they are."""
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=5))
    here, there = torch.arange(6), torch.arange(6).to("sim")
    written = 6
    for size in sizes:
        here.resize_(size)
        there.resize_(size)
        known = min(size, written)
        assert there.shape == here.shape
        assert there[:known].tolist() == here[:known].tolist()
        here.fill_(size)
        there.fill_(size)
        written = max(size, written)
    assert there.tolist() == here.tolist()


def test_shrinking_and_growing_back_finds_the_old_bytes() -> None:
    there = torch.arange(6, device="sim")
    address = there.data_ptr()
    assert there.resize_(2).tolist() == [0, 1]
    assert there.resize_(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert there.data_ptr() == address


def test_a_view_resizes_within_the_memory_that_it_shares() -> None:
    base = torch.arange(6, device="sim")
    view = base[2:3].resize_(3)
    assert view.tolist() == [2, 3, 4]
    view.zero_()
    assert base.tolist() == [0, 1, 0, 0, 0, 5]


def test_memory_that_others_look_at_does_not_grow_behind_their_backs() -> None:
    base = torch.arange(200, device="sim")
    view = base[:2]
    with pytest.raises(RuntimeError, match="other tensors share the memory"):
        base.resize_(300)
    assert base.shape == (200,)
    del view
    assert base.resize_(300)[:200].tolist() == list(range(200))


def test_growing_is_queued_and_fills_the_rest() -> None:
    with sim.mode("lazy"):
        there = torch.zeros(3, dtype=torch.int32, device="sim") + 5
        there.resize_(300)
        assert sim.pending()
        assert there.tolist() == [5, 5, 5] + [FILL] * 297


def test_resize_as_and_memory_formats() -> None:
    template = torch.empty(2, 3, 4, 5, device="sim", memory_format=torch.channels_last)
    there = torch.empty(0, device="sim").resize_as_(template)
    assert there.is_contiguous()
    there.resize_as_(template, memory_format=torch.preserve_format)
    assert there.shape == template.shape
    grown = torch.empty(0, device="sim").resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert grown.stride() == template.stride()


def test_set_looks_at_another_tensors_bytes() -> None:
    source, there = torch.arange(4.0, device="sim"), torch.zeros(2, device="sim")
    there.set_(source)
    there.add_(1)
    assert source.tolist() == there.tolist() == [1.0, 2.0, 3.0, 4.0]
    there.set_()
    assert there.shape == (0,)
    assert source.shape == (4,)


def test_data_can_be_exchanged() -> None:
    there, other = torch.zeros(2, device="sim"), torch.ones(3, device="sim")
    there.data = other
    assert there.shape == (3,)
    there.data.add_(1)
    assert other.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        there.data = torch.ones(3)


def test_an_output_that_has_to_grow_takes_new_memory_quietly_if_it_is_empty() -> None:
    output = torch.empty(0, device="sim")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(torch.ones(300, device="sim"), 1, out=output)
    assert output.tolist() == [2.0] * 300
