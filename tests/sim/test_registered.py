"""Memory that exists already, pinned by registration; shared with a second process."""

from __future__ import annotations

import mmap
import multiprocessing
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.sim import ForkedProcessError, Platform, SimError
from pinlab.sim.counters import locked_bytes

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def test_registered_memory_is_pinned_and_uploads_from_it_are_read_late() -> None:
    arena = torch.zeros(6, dtype=torch.int64)
    with sim.host_register(arena) as registration:
        assert arena.is_pinned()
        assert arena[2:4].is_pinned()
        assert torch.from_numpy(arena.numpy()[1:]).is_pinned()
        assert "registered memory, 48 bytes, registered at test_registered.py" in repr(registration)
        with sim.mode("lazy"):
            there = arena[1:3].to("sim", non_blocking=True)
            arena[2] = 7
            assert there.tolist() == [0, 7]
            arena[4:].copy_(there, non_blocking=True)
            assert arena.tolist() == [0, 0, 7, 0, 0, 0]
            gpu.synchronize()
            assert arena.tolist() == [0, 0, 7, 0, 0, 7]
    assert not arena.is_pinned()
    with sim.mode("lazy"):
        there = arena.to("sim", non_blocking=True)  # pageable again: staged
        arena.zero_()
        assert there.tolist() == [0, 0, 7, 0, 0, 7]


def test_kernels_views_and_raw_copies_reach_it() -> None:
    arena = torch.arange(4, dtype=torch.int32)
    there = torch.zeros(4, dtype=torch.int32, device="sim")
    with sim.host_register(arena):
        sim.kernel(lambda a: a + 1, there, arena)
        sim.uva_view(arena).mul_(2)
        sim.memcpy_async(there.data_ptr(), arena.data_ptr() + 8, 8)
        assert there.tolist() == [4, 6, 3, 4]
    assert arena.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.float64])
def test_a_part_of_a_storage_of_any_size(dtype: torch.dtype) -> None:
    whole = torch.arange(9).to(dtype)
    with sim.host_register(whole[2:7]):
        assert whole[3:5].is_pinned()
        assert not whole[:2].is_pinned()
        with sim.mode("lazy"):
            there = whole[3:5].to("sim", non_blocking=True)
            whole[4] = 0
            assert there.tolist() == [3, 0]


def test_the_host_allocator_neither_tracks_nor_owns_it() -> None:
    arena = torch.zeros(1024)  # as large as a block of pinned memory
    with sim.host_register(arena), sim.mode("lazy"):
        arena.to("sim", non_blocking=True)
        assert not sim.pending()[0].tracked
        address = arena.data_ptr()
        del arena
        assert torch.zeros(1024, pin_memory=True).data_ptr() != address
        gpu.synchronize()


def test_the_operating_system_is_asked_to_lock_it() -> None:
    before = locked_bytes()
    arena = torch.zeros(1 << 16, dtype=torch.uint8)
    with sim.host_register(arena) as registration:
        during = locked_bytes()
    if before.value is None or not registration.pages.locked:
        pytest.skip(f"cannot be seen here: {before}, locked={registration.pages.locked}")
    assert (during - before).value is not None
    assert (during - before).value >= 1 << 16  # type: ignore[operator]
    assert locked_bytes().value == before.value


def test_a_mapped_file_and_an_array_can_be_registered(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    path.write_bytes(bytes(range(16)))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        view = torch.frombuffer(mapping, dtype=torch.uint8)
        with sim.host_register(view):
            view.copy_(torch.full((16,), 3, dtype=torch.uint8).to("sim"), non_blocking=True)
            gpu.synchronize()
        assert mapping[:4] == b"\x03" * 4
        del view
    array = np.zeros(4)
    sim.host_register(torch.from_numpy(array))
    assert torch.from_numpy(array).is_pinned()
    sim.host_unregister(torch.from_numpy(array))
    assert not torch.from_numpy(array).is_pinned()


def test_mistakes_are_named() -> None:
    arena = torch.zeros(8)
    with sim.host_register(arena[2:4]):
        with pytest.raises(ValueError, match=r"pinned already .*<registered memory, 8 bytes"):
            sim.host_register(arena)
        with pytest.raises(ValueError, match="nothing was registered"):
            sim.host_unregister(arena)
    with pytest.raises(ValueError, match="nothing was registered"):
        sim.host_unregister(arena[2:4])
    with pytest.raises(ValueError, match="pinned already"):
        sim.host_register(torch.zeros(1, pin_memory=True))
    with pytest.raises(ValueError, match=r"contiguous bytes; this is a tensor float32\[4\]"):
        sim.host_register(arena[::2])
    with pytest.raises(ValueError, match="contiguous bytes"):
        sim.host_register(torch.zeros(0))
    with pytest.raises(TypeError, match="not a ndarray"):
        sim.host_register(np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sim:0"):
        sim.host_register(torch.zeros(2, device="sim"))
    with sim.platform(Platform(pinning=False)), pytest.raises(SimError, match="cannot pin"):
        sim.host_register(arena)


def receive(name: str, orders: Any, answers: Any) -> None:
    """A second process, with a device of its own: uploads a bucket, acknowledges too early."""
    shared = shared_memory.SharedMemory(name)
    sim.install()
    bucket = torch.frombuffer(shared.buf, dtype=torch.int64, count=2)
    sim.host_register(bucket)
    with sim.mode("lazy"):
        weights = bucket.to("sim", non_blocking=True)
        answers.put("acknowledged, and nothing was read yet")
        orders.get()
        answers.put(weights.tolist())
    sim.host_unregister(bucket)
    del bucket
    shared.close()


def refuse_after_fork(answers: Any) -> None:
    try:
        sim.host_register(torch.zeros(1))
    except ForkedProcessError as error:
        answers.put(str(error))


@pytest.mark.slow
def test_a_spawned_process_has_a_device_of_its_own_on_shared_bytes_a_forked_one_none() -> None:
    spawn = multiprocessing.get_context("spawn")
    shared = shared_memory.SharedMemory(create=True, size=16)
    bucket = torch.frombuffer(shared.buf, dtype=torch.int64, count=2)
    bucket.copy_(torch.tensor([1, 1]))
    orders, answers = spawn.Queue(), spawn.Queue()
    child = spawn.Process(target=receive, args=(shared.name, orders, answers))
    child.start()
    assert answers.get(timeout=90).startswith("acknowledged")
    bucket.fill_(2)  # the sender's next bucket
    orders.put("go on")
    assert answers.get(timeout=90) == [2, 2]
    child.join(90)
    assert child.exitcode == 0
    del bucket
    shared.close()
    shared.unlink()
    if "fork" in multiprocessing.get_all_start_methods():
        fork = multiprocessing.get_context("fork")
        answers = fork.SimpleQueue()
        child = fork.Process(target=refuse_after_fork, args=(answers,))  # type: ignore[assignment]
        child.start()
        assert "fork" in answers.get()
        child.join(90)
