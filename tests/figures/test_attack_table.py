"""The attack table says what the reports say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pinlab.device import pick_device
from pinlab.figures.attack_table import Tried, attack_table, attack_table_alt, attack_table_twin
from pinlab.figures.style import Drawing
from pinlab.schedules import Report, explore

pick_device()


def report(holds: bool) -> Report:
    def program() -> list[int]:
        row = torch.tensor([2, 4], pin_memory=True)
        arrived = row.to("sim", non_blocking=True)
        row[1] = 4 if holds else 40
        return arrived.tolist()

    return explore(program, expect=[2, 4])


@pytest.fixture(scope="module")
def rows() -> list[Tried]:
    held, broken = report(True), report(False)
    return [
        Tried("a bare pair", {"hasty": broken, "hoarder": broken, "twice": broken}, 0, 0),
        Tried("a closed one", {"hasty": held, "hoarder": held, "twice": held}, 3, 1_234_567),
        Tried("half of it", {"hasty": held, "hoarder": broken, "twice": held}, 3, 0),
    ]


def test_each_row_says_held_or_the_schedule_that_breaks_it(rows: list[Tried]) -> None:
    bare, closed, half = attack_table_twin(rows)[2:]
    assert bare.split("pair")[1].split() == ["✗", "at", "h"] * 3 + ["0", "0"]
    assert closed.split("one")[1].split() == ["✓", "held"] * 3 + ["3", "1,234,567"]
    assert half.count("✓ held") == 2


def test_alt_names_the_designs_that_hold(rows: list[Tried]) -> None:
    assert attack_table_alt(rows).endswith("1 hold in every schedule (a closed one).")
    assert "(none)" in attack_table_alt(rows[:1])


def test_picture_is_readable(rows: list[Tried], assert_readable: Callable[[Drawing], None]) -> None:
    assert_readable(attack_table(rows))


def test_no_design_and_unlike_attacks_are_refused(rows: list[Tried]) -> None:
    with pytest.raises(ValueError, match="1 to 24 designs, got 0"):
        attack_table([])
    with pytest.raises(ValueError, match="same 3 attacks"):
        attack_table([*rows, Tried("another", {"hasty": rows[0].reports["hasty"]}, 0, 0)])
