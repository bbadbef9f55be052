"""The caching allocator of device memory: reuse in the owning stream's order."""

from __future__ import annotations

import gc
import threading

import torch

from pinlab import sim
from pinlab.sim.blocks import DeviceAllocator
from pinlab.sim.queue import StreamQueue

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def test_a_dead_tensors_block_is_handed_out_again_at_once_on_its_stream() -> None:
    with sim.mode("lazy"):
        first = torch.full((300,), 7, device="sim")
        address = first.data_ptr()
        doubled = first * 2
        del first
        again = torch.full((300,), 1, device="sim")  # queued behind the multiplication
        assert again.data_ptr() == address
        assert doubled.sum().item() == 4200
        assert again.sum().item() == 300


def test_another_stream_gets_other_blocks() -> None:
    first = torch.full((300,), 7, device="sim")
    address = first.data_ptr()
    del first
    with gpu.stream(gpu.Stream()):
        assert torch.full((300,), 1, device="sim").data_ptr() != address


def test_other_sizes_get_other_blocks_and_small_ones_are_rounded_up_to_512_bytes() -> None:
    first = torch.zeros(10, device="sim")
    address = first.data_ptr()
    del first
    assert torch.zeros(200, device="sim").data_ptr() != address  # 800 bytes
    assert torch.zeros(128, device="sim").data_ptr() == address  # 512 bytes
    assert gpu.memory_allocated() == 0


def used_on_a_side_stream(record: bool) -> float:
    """The sum that a side stream computes from a tensor that was dropped meanwhile."""
    with sim.mode("lazy"):
        side = gpu.Stream()
        there = torch.ones(300, device="sim")
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            total = there.sum()
        if record:
            there.record_stream(side)
        del there
        torch.zeros(300, device="sim")  # on the first stream: may take the block
        gpu.current_stream().synchronize()  # and runs before the side stream does
        with gpu.stream(side):
            return total.item()


def test_record_stream_keeps_a_block_until_that_stream_is_past() -> None:
    assert used_on_a_side_stream(record=True) == 300


def test_without_record_stream_the_block_is_reused_under_the_side_streams_feet() -> None:
    assert used_on_a_side_stream(record=False) == 0


def test_a_recorded_block_comes_back_when_the_stream_is_past() -> None:
    with sim.mode("lazy"):
        side = gpu.Stream()
        there = torch.ones(300, device="sim")
        address = there.data_ptr()
        with gpu.stream(side):
            other = torch.ones(3, device="sim")
        there.record_stream(side)
        del there
        with gpu.stream(side):
            other.add_(1)  # after the death: it does not count
        assert torch.ones(300, device="sim").data_ptr() != address
        sim.step(stream=side)
        assert torch.ones(300, device="sim").data_ptr() == address


def test_a_view_keeps_the_block() -> None:
    with sim.mode("lazy"):
        whole = torch.full((300,), 7, device="sim")
        part, address = whole[10:12], whole.data_ptr()
        del whole
        gc.collect()
        assert torch.zeros(300, device="sim").data_ptr() != address
        assert part.tolist() == [7, 7]


def test_memory_is_counted_in_blocks() -> None:
    assert gpu.memory_allocated() == 0
    there = torch.zeros(1000, device="sim")  # 4,000 bytes: eight blocks of 512
    assert gpu.memory_allocated() == 4096
    assert gpu.max_memory_allocated() >= 4096
    del there
    assert gpu.memory_allocated() == 0
    assert gpu.memory_reserved() >= 4096
    gpu.empty_cache()
    assert gpu.memory_reserved() == 0


def test_queued_work_leaves_memory_flat() -> None:
    there = torch.zeros(1000, device="sim")
    for _ in range(50):
        there = there + 1
    gpu.synchronize()
    reserved = gpu.memory_reserved()
    for _ in range(2000):
        there = there + 1
    assert there[0].item() == 2050
    assert gpu.memory_reserved() <= reserved + 4096


def test_blocks_of_before_a_reset_do_not_come_back() -> None:
    old = torch.full((300,), 7, device="sim")
    gpu.synchronize()
    sim.reset()
    assert gpu.memory_allocated() == 0
    assert old[0].item() == 7  # alive, hence usable
    del old
    assert gpu.memory_reserved() <= 512  # the block of `old[0].item()`, if any
    assert gpu.memory_allocated() == 0


def test_two_threads_never_get_one_block() -> None:
    """Straight at the allocator, with a thread switch between any two bytecodes."""
    import sys

    allocator, lock = DeviceAllocator(), threading.RLock()
    stream = StreamQueue(0, 0, lock)
    user = StreamQueue(1, 0, lock)
    problems: list[str] = []

    def work() -> None:
        for number in range(400):
            held = [allocator.allocate(100, stream) for _ in range(3)]
            if number % 3 == 0:
                held[0].record(user)
            if len({id(one.block) for one in held}) < 3:
                problems.append("one block twice")
            for one in held:
                if getattr(one.block, "views", {}).get("owner") not in (None, one):
                    problems.append("somebody else's block")
                one.block.views["owner"] = one  # type: ignore[assignment]
            for one in held:
                if one.block.views.pop("owner") is not one:
                    problems.append("taken meanwhile")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert problems == []
    assert allocator.allocated() == 0
