"""What differs between vendors: one switch, one test."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pinlab import sim
from pinlab.sim import Platform
from pinlab.sim.platform import current_platform

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def pageable_upload() -> list[int]:
    row, there = torch.tensor([5, 7]), torch.zeros(2, dtype=torch.int64, device="sim")
    with sim.mode("lazy"):
        there.copy_(row, non_blocking=True)
        row.fill_(40)
        return list(there.tolist())


def test_pageable_uploads_are_staged_or_read_late() -> None:
    assert pageable_upload() == [5, 7]
    with sim.platform(Platform(stage_pageable_uploads=False)):
        assert pageable_upload() == [40, 40]


def test_a_pageable_upload_may_wait_for_its_stream_first() -> None:
    row, there = torch.tensor([5, 7]), torch.zeros(2, dtype=torch.int64, device="sim")
    with sim.mode("lazy"):
        earlier = torch.ones(2, device="sim")
        there.copy_(row, non_blocking=True)
        assert len(sim.pending()) == 2
        with sim.platform(Platform(pageable_upload_waits=True)):
            there.copy_(row, non_blocking=True)
        assert [operation.name for operation in sim.pending()] == ["upload"]  # itself it is queued
        assert earlier._inner.tolist() == [1, 1]
        row.fill_(40)
        assert there.tolist() == [5, 7]


def test_pageable_downloads_block_or_not() -> None:
    there = torch.full((2,), 8, device="sim")
    with sim.mode("lazy"):
        host = torch.zeros(2, dtype=torch.int64)
        host.copy_(there, non_blocking=True)
        assert host.tolist() == [8, 8]
        with sim.platform(Platform(pageable_downloads_block=False)):
            host.fill_(0)
            host.copy_(there, non_blocking=True)
            assert host.tolist() == [0, 0]
            gpu.synchronize()
            assert host.tolist() == [8, 8]


def dropped_source(view: Callable[[torch.Tensor], torch.Tensor]) -> int:
    """What a queued copy reads after its source died and new pinned memory was filled with 9."""
    sim.reset()
    there = torch.zeros(600, dtype=torch.int64, device="sim")
    with sim.mode("lazy"):
        row = view(torch.full((700,), 7, pin_memory=True))[:600]
        there.copy_(row, non_blocking=True)
        del row
        torch.full((700,), 9, pin_memory=True)
        return int(there[0].item())


def whole(row: torch.Tensor) -> torch.Tensor:
    return row


def later_part(row: torch.Tensor) -> torch.Tensor:
    return row[100:]


def numpy_part(row: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(row.numpy()[100:])


def numpy_face(row: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(row.numpy())


def test_a_dropped_block_is_kept_for_the_copies_that_the_allocator_recognises() -> None:
    assert dropped_source(whole) == 7
    assert dropped_source(later_part) == 7  # by its storage
    assert dropped_source(numpy_face) == 7  # by its address
    assert dropped_source(numpy_part) == 9  # by neither: PyTorch does not recognise it


def test_an_allocator_that_goes_by_the_tensors_own_address_misses_slices() -> None:
    with sim.platform(Platform(track_by="data_ptr")):
        assert dropped_source(whole) == 7
        assert dropped_source(later_part) == 9


def test_without_tracking_a_recycled_block_corrupts_the_copy() -> None:
    with sim.platform(Platform(host_allocator_tracks=False)):
        assert dropped_source(whole) == 9


def test_pinning_may_silently_give_ordinary_memory() -> None:
    with sim.platform(Platform(pinning=False)):
        row = torch.tensor([5, 7], pin_memory=True)
        assert not row.is_pinned()
        assert not torch.tensor([5, 7]).pin_memory().is_pinned()
        with sim.mode("lazy"):
            there = row.to("sim", non_blocking=True)
            row.fill_(40)
            assert there.tolist() == [5, 7]  # staged
            back = there.to("cpu", non_blocking=True)
            assert not back.is_pinned()
            assert back.tolist() == [5, 7]  # waited for


def test_rules_hold_for_a_block_and_nest() -> None:
    outer, inner = Platform(pinning=False), Platform(pageable_downloads_block=False)
    with sim.platform(outer):
        with sim.platform(inner) as now:
            assert now is inner
            assert current_platform() is inner
        assert current_platform() is outer
    assert current_platform() == Platform()
    with pytest.raises(KeyError), sim.platform(outer):
        raise KeyError
    assert current_platform() == Platform()


def test_wrong_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="track_by='name'; known are 'storage' and 'data_ptr'"):
        Platform(track_by="name")
    with pytest.raises(TypeError, match="takes a Platform, not dict"), sim.platform({}):  # type: ignore[arg-type]
        pass
