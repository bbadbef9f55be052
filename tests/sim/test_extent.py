"""Address ranges of host buffers, against brute force over single bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pinlab.sim.extent import changed, merged, overlap, read, runs_of, without

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=5).map(
    lambda pairs: merged((start, start + length) for start, length in pairs)
)


def single(runs) -> set[int]:
    return {byte for start, stop in runs for byte in range(start, stop)}


@given(RANGES, RANGES)
def test_overlap_and_difference_are_those_of_sets_of_bytes(left, right) -> None:
    assert single(overlap(left, right)) == single(left) & single(right)
    assert single(without(left, right)) == single(left) - single(right)


@pytest.mark.parametrize(
    "index",
    ["[:]", "[1]", "[:, 2]", "[::-1]", "[:, ::-2]", "[1:3, 1:4]", "[2:2]", "[..., None, ::3]"],
)
def test_runs_cover_exactly_the_bytes_that_a_write_through_the_view_changes(index) -> None:
    base = np.zeros((4, 6), dtype=np.int16)
    view = eval("base" + index)
    view[...] = -1
    start = base.__array_interface__["data"][0]
    written = {start + int(k) for k in np.flatnonzero(base.view(np.uint8))}
    assert single(runs_of(view)) == written


def test_a_transposed_or_whole_tensor_is_one_range_and_an_expanded_one_is_counted_once() -> None:
    grid = torch.zeros(3, 5)
    assert len(runs_of(grid)) == len(runs_of(grid.T)) == 1
    assert runs_of(grid[0].expand(7, 5)) == runs_of(grid[0])


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.bool, torch.complex64, torch.float8_e4m3fn]
)
def test_any_element_type_has_its_bytes(dtype) -> None:
    tensor = torch.zeros(4, dtype=torch.uint8).to(dtype)
    ((start, stop),) = runs_of(tensor)
    assert (start, stop - start) == (tensor.data_ptr(), 4 * tensor.element_size())


def test_changed_bytes_are_found_one_by_one_in_a_long_buffer() -> None:
    buffer = np.zeros(5000, dtype=np.uint8)
    runs = runs_of(buffer)
    before = read(runs)
    buffer[[0, 255, 256, 257, 4999]] = 1
    found = {byte - runs[0][0] for byte in single(changed(runs, before, read(runs)))}
    assert found == {0, 255, 256, 257, 4999}


def test_what_has_no_address_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="not list"):
        runs_of([1, 2])
    with pytest.raises(TypeError, match="not a tensor on meta"):
        runs_of(torch.empty(2, device="meta"))
