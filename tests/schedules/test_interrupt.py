"""Searches that end early claim nothing and leave a clean device."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore
from pinlab.sim.state import accelerator


def ring() -> Any:
    row = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    there = torch.zeros(6, dtype=torch.int64, device="sim")
    for n in range(6):
        row.fill_(n)
        there[n : n + 1].copy_(row, non_blocking=True)
    return there.tolist()


def test_a_limit_claims_nothing() -> None:
    report = explore(ring, expect=[0, 1, 2, 3, 4, 5], max_schedules=5)
    assert (report.explored, report.complete, report.deterministic) == (5, False, False)
    assert not report.correct
    assert report.verdict == "ring: the limit was reached before the end; nothing is claimed"


def test_a_limit_that_is_just_enough_is_complete() -> None:
    everything = explore(ring)
    assert everything.complete
    exact = explore(ring, max_schedules=everything.explored)
    assert exact.complete
    assert exact.explored == everything.explored
    assert not explore(ring, max_schedules=everything.explored - 1).complete


def test_one_schedule_of_a_racy_program_is_not_determinism() -> None:
    report = explore(ring, max_schedules=1)
    assert len(report.outcomes) == 1
    assert not report.deterministic


def test_ctrl_c_leaves_a_partial_report_and_a_clean_device() -> None:
    runs = iter(range(100))

    def program() -> Any:
        if next(runs) == 6:
            torch.zeros(1, device="sim")
            raise KeyboardInterrupt
        return ring()

    mode = accelerator().mode
    report = explore(program)
    assert report.interrupted
    assert (report.complete, report.deterministic, report.correct) == (False, False, False)
    assert report.explored == 4  # two rehearsals, the reference, three more
    assert "interrupted, so this is only a part; nothing is claimed" in str(report)
    assert report.counterexample is not None
    assert sim.pending() == []
    assert accelerator().mode is mode
    assert torch.zeros(2, device="sim").tolist() == [0.0, 0.0]


def test_ctrl_c_before_the_search_is_an_ordinary_interrupt() -> None:
    def program() -> Any:
        raise KeyboardInterrupt

    mode = accelerator().mode
    with pytest.raises(KeyboardInterrupt):
        explore(program)
    assert accelerator().mode is mode
    assert sim.pending() == []


@pytest.mark.parametrize(("setting", "disable"), [("0", True), ("1", None), (None, None)])
def test_the_progress_bar_appears_after_a_second_and_leaves_nothing_behind(
    setting: str | None, disable: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            asked.append(options)
            self.shown = 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            asked.append({"shown": self.shown})

        def update(self) -> None:
            self.shown += 1

    monkeypatch.delenv("PINLAB_PROGRESS")
    if setting is not None:
        monkeypatch.setenv("PINLAB_PROGRESS", setting)
    monkeypatch.setattr(sys.modules["pinlab.schedules.search"], "tqdm", Bar)
    explore(ring, max_schedules=5)
    options, result = asked
    # None: off where stderr is neither a terminal nor a notebook.
    assert (options["delay"], options["leave"], options["disable"]) == (1.0, False, disable)
    assert result == {"shown": 4}


def test_the_progress_bar_can_be_turned_off_and_appears_only_late(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINLAB_PROGRESS")
    explore(ring, max_schedules=5)
    assert capsys.readouterr() == ("", "")
