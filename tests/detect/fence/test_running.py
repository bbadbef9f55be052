"""How a run behind the fence begins and ends: output, errors, limits, the parent left alone."""

from __future__ import annotations

import ctypes
import sys

import pytest
import torch

from pinlab import sim
from pinlab.detect.fence import fence
from pinlab.device import pick_device

device = pick_device()


def race() -> None:
    row = torch.zeros(2, pin_memory=True)
    row.to(device, non_blocking=True)
    row[0] = 1


def test_the_report_reads_as_a_sentence_with_the_two_lines_and_the_bytes() -> None:
    text = repr(fence(race))
    assert text.startswith("1 hazard in 2 runs behind the fence\n")
    assert "the operation's bytes: write to an upload's source: row (float32[2], 8 bytes)" in text
    assert "upload queued at test_running.py:" in text
    assert "row[0] = 1" in text
    assert "bytes 00 00 00 00 became 00 00 80 3f" in text


def test_output_and_errors_of_the_last_run_are_kept_and_no_claim_goes_beyond() -> None:
    def program() -> None:
        print("once")
        race()
        raise ValueError("in the middle")

    report = fence(program)
    assert report.out == "once\n"
    assert "ValueError: in the middle" in report.err
    assert "fence/child.py" not in report.err
    assert not report.complete
    assert report.ended == "raised ValueError: in the middle"
    assert "as far as it came: raised ValueError" in repr(report)
    assert len(report.hits) == 1


def test_a_program_that_never_ends_is_an_error_that_says_where_it_stood() -> None:
    def stuck() -> None:
        while True:
            pass

    with pytest.raises(TimeoutError, match=r"within 0\.3 s behind the fence[\s\S]*in stuck"):
        fence(stuck, timeout=0.3)


def test_a_crash_of_the_programs_own_is_told_from_the_fence() -> None:
    def crash() -> None:
        race()
        ctypes.string_at(8)

    report = fence(crash)
    assert report.ended == "killed by signal 11"
    assert "in crash" in report.err
    assert len(report.hits) == 1


def test_a_recording_inside_is_refused_and_not_taken_for_the_program() -> None:
    def recorded() -> None:
        landing = torch.zeros(2, pin_memory=True)
        with sim.record(landing=landing):
            landing.copy_(torch.ones(2, device=device), non_blocking=True)
            torch.ones(1, device=device)

    report = fence(recorded)
    assert report.ended.startswith("stopped: a recording, or hazards()")
    assert not report.hits


def test_the_parents_work_and_device_go_on() -> None:
    row = torch.tensor([1, 2], pin_memory=True)
    with sim.mode("lazy"), sim.hold():
        there = row.to(device, non_blocking=True)
        assert len(fence(race).hits) == 1
        row[1] = 5
    assert there.tolist() == [1, 5]
    torch.sim.synchronize()
    assert not sim.pending()


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_limit_that_is_none_is_an_error(timeout: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        fence(race, timeout=timeout)


def test_elsewhere_it_says_that_it_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotImplementedError, match=r"not available here.*Linux.*darwin"):
        fence(race)


def test_a_real_gpu_has_no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINLAB_DEVICE", "cuda")
    monkeypatch.setattr(sim, "installed", lambda: False)
    with pytest.raises(RuntimeError, match="needs the simulated device"):
        fence(race)
