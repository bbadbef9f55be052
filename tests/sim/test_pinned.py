"""Pinned host memory: what is pinned, when a block is handed out again, and real page locking."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.sim.pages import PAGE, Pages
from pinlab.sim.pinned import PinnedAllocator
from pinlab.sim.state import host_memory
from tools.nursery import run_script

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def test_pinned_memory_begins_at_a_page_and_takes_a_power_of_two() -> None:
    for nbytes, size in ((1, PAGE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE), (3 * PAGE, 4 * PAGE)):
        row = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=True)
        block = host_memory.find(row.data_ptr())
        assert block is not None
        assert row.data_ptr() % PAGE == 0
        assert block.pages.size == size


def test_a_view_is_pinned_and_a_copy_is_not() -> None:
    row = torch.arange(12, pin_memory=True)
    face = row.numpy()
    for view in (row[3:], row[:0], row[::2], row.view(3, 4).t(), row.view(torch.uint8)):
        assert view.is_pinned()
    assert torch.from_numpy(face[5:]).is_pinned()
    for copy in (row.clone(), torch.from_numpy(face.copy()), row[[1, 2]], row + 1, row.float()):
        assert not copy.is_pinned()
    assert not torch.from_numpy(np.arange(12)).is_pinned()


def test_memory_without_bytes_is_not_pinned() -> None:
    """PyTorch's host allocator gives no memory for size 0 either."""
    empty = torch.empty(0, 3, pin_memory=True)
    assert (tuple(empty.shape), empty.is_pinned()) == ((0, 3), False)


def test_the_neighbour_of_pinned_memory_is_not_pinned() -> None:
    row = torch.zeros(PAGE, dtype=torch.uint8, pin_memory=True)
    block = host_memory.find(row.data_ptr())
    assert block is not None
    assert host_memory.find(block.pages.address - 1) is not block
    assert host_memory.find(block.pages.address + block.pages.size) is not block


def test_strides_of_the_original_are_kept() -> None:
    turned = torch.arange(6).reshape(2, 3).t().pin_memory()
    assert turned.is_pinned()
    assert turned.stride() == (1, 3)
    assert turned.tolist() == [[0, 3], [1, 4], [2, 5]]


# -- reuse -----------------------------------------------------------------------------------------


def row_of(value: int) -> torch.Tensor:
    return torch.full((700,), value, pin_memory=True)


def test_a_dead_block_is_handed_out_again() -> None:
    first = row_of(1)
    address = first.data_ptr()
    del first
    assert row_of(2).data_ptr() == address


def test_a_numpy_face_keeps_the_block() -> None:
    row = row_of(1)
    face, address = row.numpy()[3:5], row.data_ptr()
    del row
    assert row_of(2).data_ptr() != address
    assert face.tolist() == [1, 1]
    del face
    assert row_of(2).data_ptr() == address


def test_a_block_waits_for_the_streams_of_its_copies() -> None:
    with sim.mode("lazy"):
        row, side = row_of(1), gpu.Stream()
        address = row.data_ptr()
        with gpu.stream(side):
            there = row.to("sim", non_blocking=True)
            del row
            later = torch.ones(1, device="sim")  # queued after the death: it does not count
        assert row_of(9).data_ptr() != address
        sim.step(2, stream=side)  # the copy (and the `empty_strided` has no work of its own)
        assert row_of(9).data_ptr() == address
        side.synchronize()
        assert (there.sum().item(), later.item()) == (700, 1)


def test_a_block_waits_for_all_that_was_queued_at_its_death() -> None:
    """PyTorch records an event on the stream when the block is freed, not when it is copied."""
    with sim.mode("lazy"):
        row = row_of(1)
        address = row.data_ptr()
        there = row.to("sim", non_blocking=True)
        there.add_(1)
        del row
        sim.step()
        assert row_of(9).data_ptr() != address
        sim.step()
        assert row_of(9).data_ptr() == address


def test_a_block_without_copies_comes_back_whatever_is_queued() -> None:
    with sim.mode("lazy"):
        torch.ones(1, device="sim")
        row = row_of(1)
        address = row.data_ptr()
        del row
        assert row_of(2).data_ptr() == address


def test_a_buffer_that_is_copied_again_and_again_remembers_only_its_streams() -> None:
    row, there = row_of(1), torch.zeros(700, dtype=torch.int64, device="sim")
    for _ in range(200):
        there.copy_(row, non_blocking=True)
    block = host_memory.find(row.data_ptr())
    assert block is not None
    assert len(block.users) == 1


def test_two_threads_never_get_one_block() -> None:
    allocator, problems = PinnedAllocator(), []

    def work(mark: int) -> None:
        for _ in range(200):
            rows = [allocator.allocate(torch.Size([8]), (1,), torch.int64) for _ in range(3)]
            for number, row in enumerate(rows):
                row.fill_(10 * mark + number)
            for number, row in enumerate(rows):
                if row.tolist() != [10 * mark + number] * 8 or not allocator.is_pinned(row):
                    problems.append((mark, number))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(mark,)) for mark in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert problems == []
    assert allocator.in_use() == []


# -- the pages -------------------------------------------------------------------------------------


def locked_kilobytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmLck:"):
            return int(line.split()[1])
    raise AssertionError("no VmLck in /proc/self/status")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_pinning_moves_the_operating_systems_counter() -> None:
    before = locked_kilobytes()
    pages = Pages(64 * PAGE)
    if not pages.locked:
        pytest.skip("the limit on locked memory (ulimit -l) leaves no room here")
    assert locked_kilobytes() - before == 64 * PAGE // 1024


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on locked memory")
def test_where_nothing_may_be_locked_pinning_works_unlocked() -> None:
    code = (
        "import os, resource\n"
        "import torch\n"
        "from pinlab import sim\n"
        "from pinlab.sim.state import host_memory\n"
        "sim.install()\n"
        "torch.zeros(2, device='sim').copy_(torch.ones(2)).tolist()\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))\n"
        "if os.geteuid() == 0: os.setuid(65534)  # the limit does not bind a privileged process\n"
        "row = torch.tensor([5, 7], pin_memory=True)\n"
        "with sim.hold():\n"
        "    there = row.to('sim', non_blocking=True)\n"
        "    row.fill_(40)\n"
        "print(row.is_pinned(), there.tolist())\n"
        "print(host_memory.find(row.data_ptr()))\n"
    )
    done = run_script(code, check=True)
    first, second = done.stdout.splitlines()
    assert first == "True [40, 40]"
    assert second.endswith("locked=False>")
