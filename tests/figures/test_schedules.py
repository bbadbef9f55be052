"""Heat map and lanes: what the twin says is what the explorer found; every picture is readable."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pinlab.device import pick_device
from pinlab.figures import (
    schedule_heatmap,
    schedule_heatmap_twin,
    schedule_lanes,
    schedule_lanes_twin,
)
from pinlab.figures.style import Drawing
from pinlab.schedules import Schedule, explore, replay
from pinlab.schedules.grid import grid

device = pick_device()
gpu = torch.get_device_module(device)


class Rows:
    """Three rows in pinned memory, moved together when one goes."""

    def __init__(self) -> None:
        self.lens = torch.tensor([5, 7, 9], pin_memory=True)

    def condense(self) -> None:
        self.lens[1] = self.lens[2]
        self.lens[2] = 40


def racy() -> list[int]:
    rows = Rows()
    lens = rows.lens.to(device, non_blocking=True)
    rows.condense()
    return lens.tolist()


def repaired() -> list[int]:
    rows = Rows()
    lens = rows.lens.clone().to(device, non_blocking=True)
    rows.condense()
    return lens.tolist()


def two_streams() -> list[int]:
    side = gpu.Stream()
    one = torch.tensor([1, 2], pin_memory=True)
    with gpu.stream(side):
        there = one.to(device, non_blocking=True)
    total = there + torch.ones(2, dtype=torch.int64, device=device)
    return total.tolist()


def long_program() -> list[int]:
    rows = torch.zeros(40, dtype=torch.int64, pin_memory=True)
    lens = rows.to(device, non_blocking=True)
    for index in range(19):
        rows[index] = index + 1
    gpu.synchronize()
    return lens.tolist()


def test_heat_map_letters_are_the_outcomes_of_replayed_schedules() -> None:
    report = explore(racy, expect=[5, 7, 9])
    seen = grid(report)
    twin = schedule_heatmap_twin(seen)
    for (row, column), cell in seen.cells.items():
        letter = twin[2 + row].rsplit("|", 1)[1].split()[column]
        meaning = next(line for line in twin if line.startswith(f"{letter}: "))
        assert meaning.startswith(f"{letter}: {replay(racy, str(cell.schedule))!r} (")


def test_heat_map_calls_a_the_right_outcome_and_marks_the_others_wrong() -> None:
    twin = schedule_heatmap_twin(explore(racy, expect=[5, 7, 9]))
    assert "A: [5, 7, 9] (right, in order)" in twin
    assert "B: [5, 9, 9] (WRONG)" in twin
    assert "C: [5, 9, 40] (WRONG, latest)" in twin


def test_heat_map_of_a_repaired_program_has_one_letter_only() -> None:
    letters = [
        line.rsplit("|", 1)[1] for line in schedule_heatmap_twin(explore(repaired)) if "|" in line
    ]
    assert set("".join(letters[1:])) <= {"A", "·", " "}


@pytest.mark.parametrize("program", [racy, repaired, two_streams, long_program])
def test_pictures_are_readable(
    program: Callable[[], list[int]], assert_readable: Callable[[Drawing], None]
) -> None:
    report = explore(program)
    assert_readable(schedule_heatmap(report, keep=lambda column: True))
    if program is not long_program:
        assert_readable(schedule_lanes(next(iter(report.outcomes.values()))[0]))


def test_lanes_tell_the_steps_of_the_schedule_in_order() -> None:
    report = explore(racy, expect=[5, 7, 9])
    schedule = report.outcomes[[5, 9, 9]][0]
    twin = schedule_lanes_twin(schedule)
    upload = next(i for i, line in enumerate(twin) if "> upload" in line)
    assert "self.lens[1] = self.lens[2]" in twin[upload - 1]
    assert "self.lens[2] = 40" in twin[upload + 1]
    assert "the host waits" not in twin[upload]


def test_lanes_need_a_schedule_with_a_program() -> None:
    with pytest.raises(ValueError, match="has no program"):
        schedule_lanes(Schedule.parse("h2.d1"))


def test_too_many_host_moments_are_refused_with_the_limit() -> None:
    def endless() -> list[int]:
        rows = torch.zeros(4, dtype=torch.int64, pin_memory=True)
        lens = rows.to(device, non_blocking=True)
        for index in range(40):
            rows[0] = index % 3 + 1
        return lens.tolist()

    report = explore(endless)
    with pytest.raises(ValueError, match="1 to 70 host moments"):
        schedule_heatmap(report)


def test_moments_that_change_nothing_are_folded_and_counted() -> None:
    def idle() -> list[int]:
        rows = torch.zeros(4, dtype=torch.int64, pin_memory=True)
        lens = rows.to(device, non_blocking=True)
        for _ in range(40):
            rows.numel()
        rows[0] = 1
        return lens.tolist()

    twin = schedule_heatmap_twin(explore(idle))
    assert sum("more moments, nothing changes" in line for line in twin) == 1
    assert len(twin) < 25
