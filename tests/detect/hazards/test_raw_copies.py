"""What `hazards()` sees of raw copies and of registered memory, in every mode."""

from __future__ import annotations

import pytest
import torch

from pinlab import sim
from pinlab.detect.hazards import Kind, hazards

from .blame import blames, gpu

pytestmark = pytest.mark.usefixtures("each_mode")


def test_a_temporary_of_a_raw_copy_that_is_dropped_and_handed_out_again() -> None:
    def program() -> None:
        there = torch.zeros(2, dtype=torch.int64, device="sim")
        chunk = torch.tensor([1, 1]).pin_memory()
        sim.memcpy_async(there, chunk)
        del chunk
        torch.tensor([2, 2]).pin_memory()
        gpu.synchronize()

    assert blames(program) == [
        (Kind.FREED, "del chunk"),
        (Kind.REUSED, "torch.tensor([2, 2]).pin_memory()"),
    ]


def test_writes_to_the_source_and_reads_of_the_destination_of_raw_copies() -> None:
    def program() -> None:
        there = torch.zeros(2, dtype=torch.int64, device="sim")
        row, back = torch.tensor([1, 1]).pin_memory(), torch.tensor([0, 0]).pin_memory()
        sim.memcpy_async(there.data_ptr(), row.data_ptr(), 16)
        row.numpy()[0] = 5
        sim.memcpy_async(back.data_ptr(), there.data_ptr(), 16)
        back.tolist()
        gpu.synchronize()
        back.tolist()

    assert blames(program) == [
        (Kind.SOURCE_WRITTEN, "row.numpy()[0] = 5"),
        (Kind.DESTINATION_READ, "back.tolist()"),
    ]


def test_a_waited_for_raw_copy_is_clean() -> None:
    def program() -> None:
        there = torch.zeros(2, dtype=torch.int64, device="sim")
        chunk = torch.tensor([1, 1]).pin_memory()
        sim.memcpy_async(there, chunk)
        gpu.current_stream().synchronize()
        del chunk
        torch.tensor([2, 2]).pin_memory()

    assert blames(program) == []


def test_registered_memory_is_watched_and_says_where_it_was_registered() -> None:
    bucket = torch.zeros(2, dtype=torch.int64)
    with sim.host_register(bucket), hazards(lines=True) as found:
        there = bucket.to("sim", non_blocking=True)
        bucket.numpy()[1] = 2
        there.tolist()
    (hazard,) = found
    assert hazard.kind is Kind.SOURCE_WRITTEN
    assert hazard.buffer.name == "bucket"
    assert hazard.buffer.pinned
    assert hazard.allocated_at is not None
    assert "sim.host_register(bucket)" in hazard.allocated_at.source
