"""What `hazards` does not see, held here so that the second table of docs/hazards.md stays true."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import torch

from pinlab import sim
from pinlab.detect.hazards import Between, Findings, Kind, hazards
from pinlab.device import pick_device

device = pick_device()
gpu = torch.get_device_module(device)


def watched(program: Callable[[], object], lines: bool = False) -> Findings:
    sim.reset()
    with sim.mode("lazy"), hazards(lines=lines) as found:
        program()
    return found


def test_c_code_that_reads_or_writes_equal_bytes() -> None:
    def program() -> None:
        row, landing = torch.zeros(8, pin_memory=True), torch.zeros(8, pin_memory=True)
        there = row.to(device, non_blocking=True)
        landing.copy_(there, non_blocking=True)
        ctypes.memset(row.data_ptr(), 0, 4)
        ctypes.string_at(landing.data_ptr(), 4)
        gpu.synchronize()

    assert not watched(program, lines=True)


def test_another_threads_write_is_noticed_by_its_bytes_but_not_placed_and_its_read_is_not() -> None:
    def program() -> None:
        row, landing = torch.zeros(8, pin_memory=True), torch.zeros(8, pin_memory=True)
        there = row.to(device, non_blocking=True)
        landing.copy_(there, non_blocking=True)

        def other() -> None:
            landing + 1
            row[0] = 1

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        gpu.synchronize()

    (hazard,) = watched(program)
    assert hazard.kind is Kind.SOURCE_WRITTEN
    assert isinstance(hazard.written_at, Between)


def test_a_write_that_is_undone_between_two_looks_needs_lines() -> None:
    def program() -> None:
        row = torch.zeros(2, dtype=torch.uint8, pin_memory=True)
        face = row.numpy()
        there = row.to(device, non_blocking=True)
        face[0] = 7
        face[0] = 0
        there.tolist()

    assert not watched(program)
    assert len(watched(program, lines=True)) == 2
