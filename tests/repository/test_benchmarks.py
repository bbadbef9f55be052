"""`make bench`: its table, what counts as worse, scripts that fail, the record and its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import collect, page, record
from benchmarks.collect import Measured
from benchmarks.compare import Compared
from benchmarks.figures import bars, curves
from benchmarks.record import Record, Script
from benchmarks.row import Row
from benchmarks.table import status, summary, table
from tests.figures.conftest import complaints

HERE = {"cpu": "Abacus 7", "cores": 2, "memory": 23.5, "system": "Linux x86_64"}
GOOD = "from benchmarks.row import Row\ndef rows():\n    yield Row('a', 1, 'times')\n"


def kept(*rows: Row, script: str = "bench_it") -> Record:
    return Record(HERE, {"python": "3.11.7"}, {script: Script("2026-12-01", "abc", 1.0, [*rows])})


def ratio(value: float, **limits: float) -> Row:
    return Row("launch", value, "times plain", **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "before", "verdict", "moved"),
    [
        (ratio(6.1), ratio(5.0), "WORSE", "+22 %"),
        (ratio(6.0), ratio(5.0), "", "+20 %"),
        (ratio(3.0), ratio(5.0), "", "-40 %"),
        (ratio(0.79, at_least=0.5), ratio(1.0), "WORSE", "-21 %"),
        (ratio(0.80, at_least=0.5), ratio(1.0), "", "-20 %"),
        (ratio(1.50, at_least=0.5), ratio(1.0), "", "+50 %"),
        (ratio(9.0, at_most=8), ratio(9.0), "OVER", "+0 %"),
        (ratio(0.4, at_least=0.5), ratio(0.4), "OVER", "+0 %"),
        (ratio(1.0), ratio(0.0), "", ""),
        (ratio(1.0), None, "new", ""),
        (Row("n", 5, "runs", "exact"), Row("n", 4, "runs", "exact"), "CHANGED", "+1"),
        (Row("n", 4, "runs", "exact"), Row("n", 4, "runs", "exact"), "", ""),
        (Row("t", 9, "s", "reading"), Row("t", 1, "s", "reading"), "", ""),
    ],
)
def test_a_row_is_held_against_the_committed_one(
    now: Row, before: Row | None, verdict: str, moved: str
) -> None:
    each = Compared(now, before)
    assert (each.verdict, each.moved) == (verdict, moved)


def test_the_table_is_aligned_and_names_value_limit_committed_and_change() -> None:
    found = [Measured("bench_it", [ratio(6.5, at_most=8), Row("n", 12345, "runs", "exact")])]
    head, _, script, *lines = table(found, kept(ratio(5.0)))
    assert head.split() == ["measurement", "value", "limit", "committed", "change"]
    assert script == "bench_it (0 s, 0 s of processor)"
    assert lines[0].split("  ")[1:2] == ["launch"]
    for words in ("6.5 times plain", "at most 8", "5 times plain", "+30 %", "WORSE"):
        assert words in lines[0]
    assert lines[0].index("6.5 times") == lines[1].index("12,345 runs") == head.index("value")
    assert lines[1].endswith("new")


def test_rows_of_one_name_are_told_apart_by_their_unit() -> None:
    twice = [Row("search", 4, "runs", "exact"), Row("search", 1.0, "runs an outcome")]
    assert "CHANGED" not in "\n".join(table([Measured("bench_it", twice)], kept(*twice)))


def test_a_committed_row_that_was_not_measured_is_named() -> None:
    lines = table([Measured("bench_it", [ratio(5)])], kept(ratio(5), Row("gone", 1, "s")))
    assert "  gone, s: committed, not measured" in lines


@pytest.mark.parametrize(
    ("measured", "plain", "strict", "words"),
    [
        (Measured("bench_it", [ratio(5)]), 0, 0, "0 scripts failed, 0 limits exceeded"),
        (Measured("bench_it", [ratio(9, at_most=8)]), 1, 1, "over its limit: launch: 9 times"),
        (Measured("bench_it", [ratio(7)]), 0, 1, "worse by over 20 %: launch +40 %"),
        (Measured("bench_it", [], failure="no luck"), 1, 1, "failed: bench_it: no luck"),
    ],
)
def test_only_failures_and_limits_are_errors_unless_it_is_strict(
    measured: Measured, plain: int, strict: int, words: str
) -> None:
    committed = kept(ratio(5))
    assert status([measured], committed, strict=False) == plain
    assert status([measured], committed, strict=True) == strict
    assert words in "\n".join(summary([measured], committed))


def test_scripts_run_in_processes_of_their_own_and_a_failing_one_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD + "def series():\n    return {'growth': 1}\n")
    (tmp_path / "broken.py").write_text(GOOD + "    raise OSError('the disk is full')\n")
    (tmp_path / "hangs.py").write_text(GOOD + "    import time\n    time.sleep(60)\n")
    (tmp_path / "leaves.py").write_text(GOOD + "    raise SystemExit(0)\n")
    (tmp_path / "old.py").write_text("print('a script without rows')\n")
    good = collect.run("good", tmp_path)
    assert (good.rows, good.series, good.failure) == ([Row("a", 1, "times")], {"growth": 1}, "")
    broken = collect.run("broken", tmp_path)
    assert (broken.rows, broken.failure) == ([Row("a", 1, "times")], "OSError: the disk is full")
    assert "  FAILED: OSError: the disk is full" in table([broken], None)
    hangs = collect.run("hangs", tmp_path, limit=1.0)
    assert (len(hangs.rows), hangs.failure) == (1, "not through after 1 s")
    assert collect.run("old", tmp_path).failure == "old has no function rows()"
    leaves = collect.run("leaves", tmp_path)
    assert (len(leaves.rows), leaves.failure) == (1, "left by itself after 1 rows")


def test_every_script_is_found_and_an_unknown_name_is_refused() -> None:
    known = collect.scripts()
    assert {"bench_launch", "bench_serving", "bench_lint", "bench_series"} <= set(known)
    assert collect.chosen(["lint", "bench_launch"], known) == ["bench_lint", "bench_launch"]
    assert collect.chosen(["lint", "bench_lint"], known) == ["bench_lint"]
    with pytest.raises(ValueError, match="no script 'bench_lunch'; there are bench_"):
        collect.chosen(["lunch"], known)


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    there = kept(ratio(5.125, at_most=8), Row("n", 3, "runs", "exact", note="of 9"))
    there.scripts["bench_it"].series = {"runs by lines": [[1, 2], [2, 4]]}
    there.save(tmp_path / "deep" / "results.json")
    assert record.load(tmp_path / "deep" / "results.json") == there
    assert record.load(tmp_path / "no.json") is None
    for text in ("{", "{}", "[]", '{"scripts": {"a": {"rows": [{"name": 1}]}}}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=r"bad.json is no record: "):
            record.load(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="a: nan times is no measurement"):
        Row("a", float("nan"), "times")


def test_scripts_of_one_machine_are_joined_and_of_two_are_not() -> None:
    old, new = kept(ratio(5), script="bench_old"), kept(ratio(6), script="bench_new")
    assert list(record.joined(old, new).scripts) == ["bench_new", "bench_old"]
    assert record.joined(kept(ratio(4), script="bench_new"), new) == new
    old.machine = {**HERE, "cores": 64}
    with pytest.raises(ValueError, match="machine differ"):
        record.joined(old, new)


def test_a_failed_script_is_not_recorded() -> None:
    found = [Measured("bench_a", [ratio(5)]), Measured("bench_b", [ratio(5)], failure="no luck")]
    assert list(record.record_of(found).scripts) == ["bench_a"]


def test_the_command_prints_the_table_and_keeps_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path / "build" / "results.json")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "scripts", lambda: ["bench_it"])
    monkeypatch.setattr(command, "load", lambda path: kept(ratio(5)))
    monkeypatch.setattr(
        command, "collect", lambda names, seen, loud: [Measured(*names, [ratio(7)])]
    )
    assert command.main([]) == 0
    assert command.main(["--strict"]) == 1
    said = capsys.readouterr().out
    assert "committed values are from another machine: Abacus 7, 2 cores, 23.5 GiB" in said
    assert re.search(r"launch +7 times plain +5 times plain +\+40 % +WORSE", said)
    there = record.load(tmp_path / "build" / "results.json")
    assert there is not None
    assert there.scripts["bench_it"].rows == [ratio(7)]
    assert command.main(["--only", "lunch"]) == 2
    monkeypatch.setattr(command, "RESULTS", tmp_path / "build" / "results.json" / "deeper")
    assert command.main([]) == 1
    assert "not kept: " in capsys.readouterr().err


def test_the_committed_page_is_what_the_committed_record_gives() -> None:
    there = record.load()
    assert there is not None
    assert page.PAGE.read_text(encoding="utf-8") == page.text(there)
    shown = {name for script in there.scripts for name, _ in page.pictures(script, there)}
    assert {path.stem for path in page.IMAGES.glob("bench_*.png")} == shown


def test_pictures_carry_their_words_and_refuse_what_they_cannot_show() -> None:
    drawing = bars("launch", "times plain", [ratio(6, at_most=8), Row("h @ w", 3, "times plain")])
    assert drawing.twin == ("launch, times plain", "  launch  6  (at most 8)", "  h @ w   3")
    assert "2 bars, from 3 to 6 (launch). The limit is 8." in drawing.alt
    assert complaints(drawing) == []
    many = {"executions": [(1, 13), (6, 32)], "schedules": [(1, 170), (6, 52_000_000)]}
    assert complaints(curves("growth with pieces", "pieces", "how many", many)) == []
    with pytest.raises(ValueError, match="0 bars"):
        bars("launch", "times plain", [])
    with pytest.raises(ValueError, match="above 0"):
        curves("cost", "lines", "s", {"a": [(1, 0), (2, 1)]})
