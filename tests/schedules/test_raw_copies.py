"""Raw copies, registered memory and pools of one's own, under every schedule."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore

from .both_searches import outcomes

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


@pytest.mark.parametrize("waits", [False, True])
def test_temporaries_of_raw_copies_are_recycled_unless_the_copy_is_waited_for(waits: bool) -> None:
    def program() -> Any:
        cache = torch.empty(2, dtype=torch.int64, device="sim")
        chunk = torch.tensor([1, 1]).pin_memory()
        sim.memcpy_async(cache.data_ptr(), chunk.data_ptr(), 16)
        if waits:
            gpu.current_stream().synchronize()
        del chunk
        other = torch.tensor([2, 2]).pin_memory()
        gpu.synchronize()
        return cache.tolist(), other.tolist()

    right = ([1, 1], [2, 2])
    assert outcomes(program) == ([right] if waits else [right, ([2, 2], [2, 2])])


def test_a_raw_copy_is_torn_between_items_when_tensors_are_given() -> None:
    def program() -> Any:
        row = torch.tensor([256, 256], pin_memory=True)
        there = torch.empty(2, dtype=torch.int64, device="sim")
        sim.memcpy_async(there, row)
        row.fill_(1)
        return there.tolist()

    assert outcomes(program, pieces=2) == [[1, 1], [256, 1], [256, 256]]


def test_a_raw_download_lands_late() -> None:
    def program() -> Any:
        landing = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        source = torch.tensor([3]).to("sim")
        sim.memcpy_async(landing.data_ptr(), source.data_ptr(), 8)
        return landing.item()

    assert outcomes(program) == [0, 3]


@pytest.mark.parametrize("registered", [False, True])
def test_registration_makes_an_upload_from_ordinary_memory_racy(registered: bool) -> None:
    bucket = torch.zeros(1, dtype=torch.int64)
    if registered:
        sim.host_register(bucket)

    def program() -> Any:
        bucket.fill_(1)
        there = bucket.to("sim", non_blocking=True)
        bucket.fill_(2)
        seen = there.item()
        bucket.fill_(0)
        return seen

    try:
        assert outcomes(program) == ([1, 2] if registered else [1])
    finally:
        if registered:
            sim.host_unregister(bucket)


def test_registered_memory_from_before_is_put_back_before_each_run() -> None:
    counter = torch.zeros(1, dtype=torch.int64)

    def program() -> Any:
        counter.add_(1)
        return counter.to("sim", non_blocking=True).item()

    with sim.host_register(counter):
        assert outcomes(program) == [1]


class SlabCache:
    """A cache over one pinned slab; the slot that was used longest ago is given away."""

    def __init__(self, slots: int, guarded: bool) -> None:
        self.slab = torch.zeros(slots, 1, dtype=torch.int64, pin_memory=True)
        self.slots: OrderedDict[str, int] = OrderedDict()
        self.busy: dict[int, Any] = {}
        self.guarded = guarded

    def put(self, key: str, value: int) -> torch.Tensor:
        full = len(self.slots) == len(self.slab)
        slot = self.slots.popitem(last=False)[1] if full else len(self.slots)
        if self.guarded and slot in self.busy:
            self.busy[slot].synchronize()
        self.slots[key] = slot
        self.slab[slot] = value
        return self.slab[slot]

    def upload(self, key: str) -> torch.Tensor:
        there = self.slab[self.slots[key]].to("sim", non_blocking=True)
        self.busy[self.slots[key]] = gpu.current_stream().record_event()
        return there


@pytest.mark.parametrize("guarded", [False, True])
def test_a_pool_of_ones_own_needs_no_help_of_the_devices(guarded: bool) -> None:
    def program() -> Any:
        cache = SlabCache(1, guarded)
        cache.put("a", 1)
        first = cache.upload("a")
        cache.put("b", 2)  # evicts "a", whose upload may be pending
        gpu.synchronize()
        return first.item()

    report = explore(program, expect=1)
    assert report.correct == guarded
    if not guarded:
        assert 2 in report.outcomes


@pytest.mark.parametrize("streams", [1, 2])
def test_an_arena_that_knows_one_stream_is_right_with_one_stream(streams: int) -> None:
    def program() -> Any:
        arena = torch.zeros(1, dtype=torch.int64, device="sim")  # one slot, used in turn
        copies = gpu.Stream() if streams == 2 else gpu.current_stream()
        landing = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        arena.fill_(7)
        copies.wait_stream(gpu.current_stream())
        with gpu.stream(copies):
            landing.copy_(arena, non_blocking=True)
        arena.fill_(8)  # the slot's next owner
        gpu.synchronize()
        return landing.item()

    assert outcomes(program) == ([7] if streams == 1 else [7, 8])
