"""What a report says, in words and as HTML."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
import torch

from pinlab.schedules import Raised, Schedule, explore


def race() -> Any:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


def repaired() -> Any:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.clone().to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


def test_the_certificate_of_a_race() -> None:
    assert str(explore(race, expect=[5, 7])).splitlines() == [
        "race: 2 different outcomes",
        "  schedules   2 run of 3 (the others can only repeat these)",
        "  varied      when queued device work runs: between two host lines, and within one after a"
        " call to the device",
        "  host lines  those of test_report.py; other code is one step per call",
        "  downloads   a pending one conflicts with every host line: a read leaves no trace in the"
        " bytes",
        '  queries     one answers "not yet" at most 8 times in a row; the device sleeps through at'
        " most 1,000 host lines",
        "  claim       about what can be observed: a write that leaves the bytes as they were is no"
        " conflict",
        "  reference   [5, 7], the expected value",
        "  WRONG      1 ×  [5, 40]   h",
        "  right      1 ×  [5, 7]   h2.d1",
    ]


def test_the_certificate_of_a_repair() -> None:
    report = explore(repaired, expect=[5, 7])
    assert report.verdict == "repaired: correct in every schedule"
    assert report.correct
    assert report.deterministic
    assert report.counterexample is None
    assert repr(report) == "<repaired: correct in every schedule: 1 schedules run>"


def test_without_an_expected_value_nothing_is_called_right_or_wrong() -> None:
    report = explore(race)
    text = str(report)
    assert "[5, 7], as if each operation ran at submission" in text
    assert "  OTHER      1 ×  [5, 40]   h" in text
    assert "  same       1 ×  [5, 7]   h2.d1" in text
    assert not report.correct
    assert str(report.counterexample) == "h"
    assert explore(repaired).verdict == "repaired: one outcome in every schedule"
    assert not explore(repaired).correct  # deterministic is not yet right


def test_deterministic_and_wrong() -> None:
    report = explore(repaired, expect=[5, 40])
    assert report.verdict == "repaired: wrong in every schedule"
    assert (report.deterministic, report.correct) == (True, False)
    assert str(report.counterexample) == "h"


def test_full_torn_and_opcode_searches_say_so() -> None:
    report = explore(race, full=True, pieces=2, granularity="opcode")
    text = str(report)
    assert "(all of them, no reduction)" in text
    assert "between two Python instructions" in text
    assert "each copy in 2 parts" in text
    call = report.replay_call(Schedule.parse("h2.d1"))
    assert call == 'replay(race, "h2.d1", pieces=2, granularity="opcode")'


def test_a_total_is_unknown_where_schedules_take_different_paths() -> None:
    def polls() -> Any:
        torch.tensor([5], pin_memory=True).to("sim", non_blocking=True)
        done = torch.get_device_module("sim").current_stream().query()
        return "early" if done else "late"

    def branches() -> Any:
        torch.tensor([5], pin_memory=True).to("sim", non_blocking=True)
        if torch.get_device_module("sim").current_stream().query():
            return "early"
        return "late"

    assert explore(polls).total == explore(polls, full=True).explored
    report = explore(branches)
    assert report.total is None
    assert "run of a number not known exactly" in str(report)


def test_outcomes_come_most_frequent_first_and_are_looked_up_by_value() -> None:
    def program() -> Any:
        row = torch.tensor([0], pin_memory=True)
        there = [row.fill_(n).to("sim", non_blocking=True) for n in range(3)]
        return [int(item) for item in there] == [0, 1, 2]

    report = explore(program)
    counts = [len(ways) for ways in report.outcomes.values()]
    assert counts == sorted(counts, reverse=True)
    assert len(report.outcomes[False]) == counts[0] == 4
    assert True in report.outcomes
    assert 0 not in report.outcomes
    assert report.outcomes.get(0) is None
    with pytest.raises(KeyError):
        report.outcomes[0]
    for ways in report.outcomes.values():
        assert ways == sorted(ways, key=lambda way: (way.steps, len(str(way)), str(way)))


def test_long_outcomes_are_cut_in_the_table_only() -> None:
    def program() -> Any:
        return list(range(1_000, 1_100))

    report = explore(program)
    assert "…" in str(report)
    assert report.outcomes[list(range(1_000, 1_100))]


def test_an_exception_as_the_expected_value() -> None:
    def program() -> Any:
        raise KeyError("row")

    assert explore(program, expect=Raised(KeyError, "'row'")).correct


class Reader(HTMLParser):
    """Cells of a table, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data


@pytest.mark.parametrize("program", [race, repaired, lambda: "<b>&"])
def test_the_html_form_says_the_same(program: Callable[[], Any]) -> None:
    report = explore(program, expect=[5, 7])
    reader = Reader()
    reader.feed(report._repr_html_())
    assert reader.open == []
    text = " ".join(str(report).split())
    assert all(" ".join(cell.split()) in text for cell in reader.cells)
    assert len(reader.cells) == 4 * len(report.outcomes) + 7
