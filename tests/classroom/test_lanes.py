"""Showing who did what: on the simulated device a timeline, elsewhere a line that says why not."""

from __future__ import annotations

import pytest
import torch

from pinlab import sim
from pinlab.classroom import show_lanes
from pinlab.classroom.lanes import NEEDS_SIM
from pinlab.device import pick_device

device = pick_device()
gpu = torch.get_device_module(device)


def test_the_device_works_as_late_as_it_may(capsys: pytest.CaptureFixture[str]) -> None:
    row, there = torch.tensor([3, 5], pin_memory=True), torch.zeros(2, device=device).long()

    def upload_then_write() -> None:
        there.copy_(row, non_blocking=True)
        row[0] = 40
        gpu.synchronize()

    show_lanes(upload_then_write, row=row)
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("The host writes row while copy 1 is in flight.>")
    assert told[1] == "[figure] timeline: 1 operation on 1 stream in 5 steps"
    assert there.tolist() == [40, 5]
    assert repr(sim.state.accelerator().mode) == "threaded"


def test_a_program_with_a_parameter_gets_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    there, out = torch.ones(2, device=device), torch.zeros(2, pin_memory=True)

    def look_too_early(run: sim.Recording) -> None:
        out.copy_(there, non_blocking=True)
        run.note("out", reads=out)

    show_lanes(look_too_early)
    assert "reads out, which copy 1 has yet to write" in capsys.readouterr().out


def test_without_the_simulated_device_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sim, "installed", lambda: False)
    show_lanes(lambda: pytest.fail("it ran"))
    assert capsys.readouterr().out == NEEDS_SIM + "\n"
    assert NEEDS_SIM.startswith("This needs the simulated device")
