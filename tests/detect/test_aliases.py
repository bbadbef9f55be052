"""Grouping, owners, ranges, relations and pending readers of live objects."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab.detect import alias_map, assert_no_alias
from pinlab.detect.extents import is_pinned


def test_names_are_grouped_across_libraries_by_the_memory_they_look_at() -> None:
    a = np.arange(6, dtype=np.int32)
    t = torch.from_numpy(a[1:4])
    seen = alias_map(a=a, t=t, back=t.numpy(), raw=memoryview(a), own=t.clone())
    assert seen.groups == (("a", "t", "back", "raw"), ("own",))
    storage, view = seen.find("t")
    assert (storage.owner, storage.nbytes, storage.pinned) == ("a", 24, False)
    assert view.runs == ((4, 16),)
    assert seen.storages[1].owner == "own"


def test_views_of_an_unnamed_owner_meet_and_say_that_the_owner_is_not_there() -> None:
    hidden = bytearray(32)
    left = np.frombuffer(hidden, dtype=np.int32)[:2]
    right = torch.frombuffer(hidden, dtype=torch.int32)[6:]
    seen = alias_map(left=left, right=right)
    assert seen.groups == (("left", "right"),)
    assert seen.storages[0].owner is None
    assert "owner not among these names" in str(seen)
    assert seen.find("left")[1].runs == ((0, 8),)
    assert seen.find("right")[1].runs == ((24, 32),)
    assert seen.relation("left", "right") == "no byte shared"


@pytest.mark.parametrize(
    ("make", "owner"),
    [
        (lambda: {"t": torch.arange(3), "v": torch.arange(3)}, None),
        (lambda: (lambda t: {"v": t[1:], "t": t})(torch.arange(3)), "t"),
        (lambda: (lambda t: {"n": t.numpy(), "t": t})(torch.arange(3)), "t"),
        (lambda: (lambda a: {"t": torch.from_numpy(a), "a": a})(np.arange(3)), "a"),
        (lambda: (lambda b: {"n": np.frombuffer(b, "u1"), "b": b})(bytearray(3)), "b"),
        (lambda: (lambda a: {"c": a[::2], "e": a[1::2]})(np.arange(4)), None),
    ],
)
def test_the_owner_is_the_name_that_allocated_all_of_it(make, owner) -> None:
    seen = alias_map(make())
    if len(seen.storages) == 1:
        assert seen.storages[0].owner == owner
    else:
        assert [s.owner for s in seen.storages] == ["t", "v"]


def test_interleaved_columns_share_no_byte_and_the_map_says_so() -> None:
    grid = np.arange(6, dtype=np.int32).reshape(3, 2)
    seen = alias_map(grid=grid, left=grid[:, 0], right=grid[:, 1])
    assert np.may_share_memory(grid[:, 0], grid[:, 1])  # bounds overlap: the coarse test says yes
    assert not seen.shares("left", "right")
    assert seen.relation("left", "right") == "interleaved, no byte shared"
    assert "left and right: interleaved, no byte shared" in str(seen)
    assert "grid and left: interleaved" not in str(seen)
    assert_no_alias(grid[:, 0], grid[:, 1])


def test_two_names_of_one_object_are_told_apart_from_two_views() -> None:
    a = np.arange(3)
    seen = alias_map(a=a, b=a, c=a[:])
    assert seen.relation("a", "b") == seen.relation("b", "a") == "the same object"
    assert seen.relation("a", "c") == "24 bytes shared: [0:24]"
    assert "b: the same object as a" in str(seen)


def test_zero_size_views_stay_with_their_owner_and_share_nothing() -> None:
    a = np.arange(3)
    seen = alias_map(a=a, nothing=a[2:2], empty=np.empty(0), void=torch.empty(0))
    assert seen.groups == (("a", "nothing"), ("empty",), ("void",))
    assert not seen.shares("a", "nothing")
    assert seen.find("nothing")[1].where == "no bytes"
    hollow = np.empty(0)
    assert alias_map(hollow=hollow, face=hollow[:]).groups == (("hollow", "face"),)


def test_a_namespace_gives_its_arrays_and_passes_over_the_rest() -> None:
    class Batch:
        def __init__(self) -> None:
            self.rows = torch.zeros(4, dtype=torch.int32)
            self.face = self.rows.numpy()
            self.sparse = torch.eye(2).to_sparse()
            self.limit = 4

    assert alias_map(Batch()).groups == (("rows", "face"),)
    space = types.SimpleNamespace(x=np.zeros(2), y="text")
    assert alias_map(space).groups == (("x",),)
    assert alias_map({"x": np.zeros(2), "__hidden": np.zeros(2)}).groups == (("x",),)
    assert alias_map(np.zeros(2), np.zeros(3)).groups == (("object 0",), ("object 1",))
    assert str(alias_map({})) == "no memory among these names"


def test_a_named_value_without_memory_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeError, match=r"list"):
        alias_map(lens=[3, 5])
    with pytest.raises(KeyError, match="no name 'c' in this map; it has a"):
        alias_map(a=np.zeros(1)).find("c")


def test_assert_no_alias_names_the_shared_bytes() -> None:
    rows = np.zeros(8, dtype=np.int32)
    with pytest.raises(AssertionError, match=r"8 bytes shared: \[8:16\] of 32"):
        assert_no_alias(rows[:4], rows[2:])
    assert_no_alias(rows[:4], rows[4:])
    assert_no_alias(rows, rows.copy())
    with pytest.raises(AssertionError, match="the same object"):
        assert_no_alias(rows, rows)


def test_nothing_printed_depends_on_where_the_memory_lies() -> None:
    def text() -> str:
        rows = torch.zeros(64, dtype=torch.int32)
        return str(alias_map(rows=rows, column=rows.view(8, 8)[:, 3], own=rows.clone()))

    keep = [np.zeros(n) for n in range(1, 50)]  # shifts the allocator
    assert len({text() for _ in keep}) == 1


@pytest.mark.parametrize(
    ("thing", "values"),
    [
        (np.array([[1, 2], [3, 4]])[::-1, 1], ("4", "2")),
        (np.array([1, 2], dtype=">i4"), ("1", "2")),
        (torch.tensor([0.1, -2.0])[None].expand(2, 2), ("0.1", "-2", "0.1", "-2")),
        (torch.tensor(7), ("7",)),
        (np.array([True, False]), ("True", "False")),
        (bytearray(b"ab"), ("97", "98")),
        (torch.zeros(2, dtype=torch.bfloat16), ()),
        (np.zeros(2, dtype=[("x", "i4")]), ()),
        (np.array(["text"]), ()),
        (np.zeros(0), ()),
        (np.zeros(17), ()),
    ],
)
def test_values_are_noted_of_few_numbers_in_index_order(thing, values) -> None:
    assert alias_map(thing=thing).find("thing")[1].values == values


def test_values_are_read_without_an_operation_on_the_tensor() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    seen: list = []
    rows = torch.arange(3)
    with Watch():
        assert alias_map(rows=rows).find("rows")[1].values == ("0", "1", "2")
    assert [str(func) for func in seen if "is_pinned" not in str(func)] == []


class FakeOperation:
    """What the simulated device reports of a queued copy."""

    def __init__(self, name: str, reads=(), writes=()) -> None:
        self.name, self.kind, self.queued_at = name, "upload", "lesson.py:7"
        self.host_reads, self.host_writes = reads, writes


def test_pending_readers_and_writers_are_put_on_the_bytes_they_use(monkeypatch) -> None:
    rows = torch.zeros(8, dtype=torch.int32)
    lens, rest, other = rows[:3], rows[4:], torch.zeros(2)
    queue = [
        FakeOperation("upload", reads=(lens,)),
        FakeOperation("download", writes=(rows[4:5],)),
        FakeOperation("elsewhere", reads=(torch.zeros(5),)),
    ]
    device = types.SimpleNamespace(pending=lambda: queue)
    monkeypatch.setitem(sys.modules, "pinlab.sim", device)
    seen = alias_map(rows=rows, lens=lens, rest=rest, other=other)
    upload, download = seen.pending
    assert (upload.verb, upload.runs, upload.names) == ("reads", ((0, 12),), ("rows", "lens"))
    assert (download.verb, download.runs, download.names) == (
        "writes",
        ((16, 20),),
        ("rows", "rest"),
    )
    assert "pending: upload reads bytes [0:12], queued at lesson.py:7" in str(seen)


def test_without_the_simulated_device_nothing_is_pending_or_pinned(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "pinlab.sim", raising=False)
    seen = alias_map(rows=torch.zeros(3))
    assert seen.pending == ()
    assert not seen.storages[0].pinned


def test_a_destination_that_is_still_to_be_written_shows_no_values(monkeypatch) -> None:
    out, source = torch.zeros(2), torch.ones(2)
    queue = [FakeOperation("download", writes=(out,)), FakeOperation("upload", reads=(source,))]
    monkeypatch.setitem(sys.modules, "pinlab.sim", types.SimpleNamespace(pending=lambda: queue))
    seen = alias_map(out=out, source=source)
    assert seen.find("out")[1].values == ()
    assert seen.find("source")[1].values == ("1", "1")


def test_is_pinned_is_false_where_torch_cannot_say() -> None:
    class Mute(torch.Tensor):
        def is_pinned(self) -> bool:
            raise RuntimeError("no accelerator")

    assert not is_pinned(torch.zeros(1).as_subclass(Mute))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_shares_agrees_with_numpy_for_views_of_views(data: st.DataObject) -> None:
    grid = np.arange(30, dtype=np.int16).reshape(5, 6)

    def cut(label: str) -> np.ndarray:
        view = grid if data.draw(st.booleans(), label) else grid.T
        for axis in (0, 1):
            step = data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))
            start = data.draw(st.integers(0, view.shape[axis] - 1))
            view = np.moveaxis(np.moveaxis(view, axis, 0)[start::step], 0, axis)
        return view

    one, other = cut("first straight"), cut("second straight")
    seen = alias_map(grid=grid, one=one, other=other)
    assert seen.groups == (("grid", "one", "other"),)
    assert seen.shares("one", "other") == np.shares_memory(one, other)
    for name, view in (("one", one), ("other", other)):
        elements = {2 * int(value) for value in view.ravel()}  # grid[i] holds i: its own offset
        reached = {byte for start, stop in seen.find(name)[1].runs for byte in range(start, stop)}
        assert reached == {byte for element in elements for byte in (element, element + 1)}
