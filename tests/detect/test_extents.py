"""Byte runs against brute force and against numpy's exact solver."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from pinlab.detect import runs
from pinlab.detect.extents import extent_of
from pinlab.detect.runs import byte_runs, common, covered

POOL = 4096  # bytes of the buffer that random layouts live in


@st.composite
def layouts(draw: st.DrawFn) -> np.ndarray:
    """A random strided array inside one buffer: negative, zero and overlapping strides too."""
    itemsize = draw(st.sampled_from([1, 2, 4, 8]))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    strides = tuple(draw(st.integers(-40, 40)) for _ in shape)
    base = POOL // 2 + draw(st.integers(-60, 60))
    buffer = np.frombuffer(_BUFFER, dtype=np.uint8)
    start = buffer[base : base + itemsize].view(f"V{itemsize}")
    return as_strided(start, shape, strides)


_BUFFER = bytearray(POOL)


def brute(array: np.ndarray) -> set[int]:
    """Every byte address an array reaches, one element at a time."""
    reached: set[int] = set()
    for index in itertools.product(*map(range, array.shape)):
        start = array.ctypes.data + sum(i * s for i, s in zip(index, array.strides, strict=True))
        reached.update(range(start, start + array.itemsize))
    return reached


def spread(runs: np.ndarray) -> set[int]:
    return {byte for start, stop in runs.tolist() for byte in range(start, stop)}


@settings(max_examples=300, deadline=None)
@given(layouts())
def test_runs_are_exactly_the_bytes_of_every_element(array: np.ndarray) -> None:
    extent = extent_of(array)
    assert extent.exact
    assert spread(extent.runs) == brute(array)
    gaps = extent.runs[1:, 0] - extent.runs[:-1, 1]
    assert (gaps > 0).all(), "runs are sorted, disjoint, and joined where they touch"


@settings(max_examples=300, deadline=None)
@given(layouts(), layouts())
def test_a_common_byte_is_found_exactly_when_numpy_finds_one(a: np.ndarray, b: np.ndarray) -> None:
    both = common(extent_of(a).runs, extent_of(b).runs)
    assert (len(both) > 0) == np.shares_memory(a, b)
    assert spread(both) == brute(a) & brute(b)


@settings(max_examples=100, deadline=None)
@given(layouts())
def test_the_block_holds_every_byte(array: np.ndarray) -> None:
    extent = extent_of(array)
    begin, end = extent.block
    assert all(begin <= byte < end for byte in brute(array))
    assert end - begin >= POOL, "a view knows the whole buffer it was cut from"


BASE = np.arange(24, dtype=np.int32).reshape(4, 6)
TENSOR = torch.arange(24, dtype=torch.int32).reshape(4, 6)


@pytest.mark.parametrize(
    ("name", "thing", "reached"),
    [
        ("reversed", BASE.ravel()[::-1], 96),
        ("transposed", BASE.T, 96),
        ("column", BASE[:, 2], 16),
        ("zero-size", BASE[2:2], 0),
        ("zero-dim", BASE[1, 1, ...], 4),
        ("broadcast", np.broadcast_to(BASE[0], (5, 6)), 24),
        ("tensor expanded", TENSOR[:, :1].expand(4, 100), 16),
        ("tensor transposed", TENSOR.t(), 96),
        ("tensor column", TENSOR[:, 2], 16),
        ("tensor zero-size", TENSOR[2:2], 0),
        ("tensor zero-dim", TENSOR[1, 1], 4),
        ("tensor of empty storage", torch.empty(0), 0),
        ("tensor viewed as bytes", TENSOR.view(torch.uint8), 96),
        ("bfloat16", torch.zeros(3, dtype=torch.bfloat16), 6),
        ("memoryview with a step", memoryview(bytearray(8))[::2], 4),
        ("memoryview of an array", memoryview(BASE), 96),
        ("bytes", b"12345678", 8),
        ("empty bytearray", bytearray(), 0),
    ],
)
def test_bytes_reached(name: str, thing: object, reached: int) -> None:
    assert covered(extent_of(thing).runs) == reached


@pytest.mark.parametrize("view", [TENSOR[1:3, ::2], TENSOR.t()[2], TENSOR[:, :1].expand(4, 7)])
def test_a_tensor_view_reaches_the_same_bytes_as_its_numpy_face(view: torch.Tensor) -> None:
    assert extent_of(view).runs.tolist() == extent_of(view.numpy()).runs.tolist()
    assert extent_of(view).block == extent_of(view.numpy()).block


def test_read_only_is_reported() -> None:
    assert extent_of(bytearray(4)).writable
    assert not extent_of(b"1234").writable
    assert not extent_of(np.broadcast_to(BASE[0], (5, 6))).writable


def test_beyond_the_limit_only_the_outer_bounds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "RUN_LIMIT", 3)
    column = BASE[:, 2]  # four runs
    assert not extent_of(column).exact
    (bounds,) = extent_of(column).runs.tolist()
    assert tuple(bounds) == np.lib.array_utils.byte_bounds(column)
    assert extent_of(BASE[:3, 2]).exact


def test_a_large_strided_view_is_mapped_without_listing_bytes() -> None:
    big = np.broadcast_to(np.zeros(1, dtype=np.int8), (1 << 40,))
    assert byte_runs(0, big.shape, big.strides, 1).tolist() == [[0, 1]]
    assert byte_runs(0, (1 << 40, 8), (8, 1), 1).tolist() == [[0, 1 << 43]]


@pytest.mark.parametrize(
    ("thing", "word"),
    [
        (3, "value"),
        (np.float64(2.5), "2.5"),
        ("text", "'text'"),
        (None, "NoneType"),
        ([1, 2], "list"),
        (torch.zeros(3, device="meta"), "meta"),
        (torch.eye(3).to_sparse(), "sparse"),
    ],
)
def test_what_has_no_bytes_is_named_in_the_error(thing: object, word: str) -> None:
    with pytest.raises(TypeError, match=word):
        extent_of(thing)
