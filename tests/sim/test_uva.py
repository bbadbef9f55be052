"""Device tensors over pinned host memory: every operator on them uses the host's bytes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.sim import IllegalAddressError

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def test_it_is_a_device_tensor_at_the_hosts_address() -> None:
    row = torch.arange(6, dtype=torch.int32, pin_memory=True).view(2, 3)
    view = sim.uva_view(row.T)
    assert (view.device.type, view.dtype, tuple(view.shape)) == ("sim", torch.int32, (3, 2))
    assert view.stride() == (1, 3)
    assert view.data_ptr() == row.data_ptr()
    assert not view.is_pinned()
    assert view.tolist() == row.T.tolist()


def test_host_writes_before_the_kernel_runs_are_seen_without_a_copy() -> None:
    row = torch.tensor([5, 7], pin_memory=True)
    view = sim.uva_view(row)
    with sim.mode("lazy"):
        first = view * 10
        row[0] = 6
        assert first.tolist() == [60, 70]
        row[1] = 8
        assert (view + 0).tolist() == [6, 8]


def test_device_writes_reach_the_host_when_they_run() -> None:
    row = torch.zeros(4, dtype=torch.int64, pin_memory=True)
    view = sim.uva_view(row)
    with sim.mode("lazy"):
        view[1:3].fill_(9)
        view[0].add_(1)
        view[3:].copy_(torch.tensor([4], pin_memory=True), non_blocking=True)
        assert row.tolist() == [0, 0, 0, 0]
        gpu.synchronize()
        assert row.tolist() == [1, 9, 9, 4]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 3), st.integers(1, 4), st.booleans(), st.sampled_from(["lazy", "threaded"]))
def test_operators_on_slices_give_the_hosts_values(
    start: int, width: int, flip: bool, mode: str
) -> None:
    grid = torch.arange(35, pin_memory=True).view(5, 7)
    part = grid[start : start + 2, ::width]
    part = part.T if flip else part
    with sim.mode(mode):
        view = sim.uva_view(part)
        assert torch.equal((view * 3 - 1).cpu(), part * 3 - 1)
        assert torch.equal(view.sum(0).cpu(), part.sum(0))


def test_operations_carry_the_host_bytes() -> None:
    row, there = torch.zeros(8, pin_memory=True), torch.zeros(4, device="sim")
    gpu.synchronize()
    view = sim.uva_view(row)
    with sim.mode("lazy"):
        torch.add(view[:4], there, out=view[4:])
        there.copy_(torch.zeros(4, pin_memory=True), non_blocking=True)
        kernel, upload = sim.pending()
    assert row.data_ptr() in [t.data_ptr() for t in kernel.host_reads]
    assert [t.data_ptr() for t in kernel.host_writes] == [row[4:].data_ptr()]
    assert len(upload.host_reads) == 1
    assert upload.host_writes == ()


def test_the_view_keeps_the_block_in_use_and_queued_work_does_not() -> None:
    with sim.mode("lazy"):
        row = torch.tensor([1], pin_memory=True)
        address, view = row.data_ptr(), sim.uva_view(row)
        result = view * 10
        del row
        assert torch.tensor([2], pin_memory=True).data_ptr() != address
        part = view[0:]
        del view
        assert torch.tensor([2], pin_memory=True).data_ptr() != address
        del part
        other = torch.tensor([4], pin_memory=True)
        assert other.data_ptr() == address
        assert result.tolist() == [40]


def test_copies_pickles_and_streams_do_not_mind() -> None:
    import copy
    import pickle

    view = sim.uva_view(torch.tensor([5, 7], pin_memory=True))
    clone = copy.deepcopy(view)
    view.record_stream(gpu.Stream())
    view.add_(1)
    assert clone.tolist() == [5, 7]
    assert pickle.loads(pickle.dumps(view)).tolist() == [6, 8]
    assert repr(view) == "tensor([6, 8], device='sim:0')"


def test_other_memory_is_refused() -> None:
    with pytest.raises(IllegalAddressError, match=r"float32\[3\] in pageable host memory"):
        sim.uva_view(torch.zeros(3))
    with pytest.raises(TypeError, match="in sim:0 memory"):
        sim.uva_view(torch.zeros(3, device="sim"))
    with pytest.raises(TypeError, match="a list"):
        sim.uva_view([1])  # type: ignore[arg-type]
    odd = torch.zeros(9, dtype=torch.uint8, pin_memory=True)[1:].view(torch.uint8)
    with pytest.raises(ValueError, match="not aligned"):
        sim.uva_view(torch.frombuffer(odd.numpy(), dtype=torch.float32))
