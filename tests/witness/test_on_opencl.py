"""The program on PoCL; skipped where PyOpenCL or PoCL is not installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import bench_witness
from pinlab.witness import (
    FIRST,
    MOMENTS,
    Measurement,
    OpenCLMissingError,
    OpenCLQueue,
    OverdueError,
    find_context,
    free,
    gated,
    listed,
    measure,
    on_opencl,
)

BUSY = 1_000_000


@pytest.fixture(autouse=True)
def _opencl() -> None:
    try:
        find_context()
    except OpenCLMissingError as error:
        pytest.skip(str(error))


def test_each_moment_on_pocl_gives_an_outcome_that_the_explorer_lists_and_none_is_missing() -> None:
    played = [gated("alias", moment) for moment in range(MOMENTS)]
    assert sorted(played) == sorted(listed("alias").outcomes.values_seen())
    assert played[0] == list(FIRST)
    assert FIRST not in {tuple(lengths) for lengths in played[1:]}


@pytest.mark.parametrize("repair", ["wait", "snapshot"])
def test_a_repair_is_right_at_each_moment(repair: str) -> None:
    assert [gated(repair, moment) for moment in range(MOMENTS)] == [list(FIRST)] * MOMENTS


def test_left_to_chance_both_reach_a_stale_outcome_and_pocl_shows_no_other() -> None:
    seen = {lengths for turns in (0, BUSY) for lengths, _ in free("alias", 60, turns).received}
    possible = {tuple(lengths) for lengths in listed("alias", pieces=3).outcomes.values_seen()}
    assert seen <= possible
    assert seen - {FIRST}
    assert possible - {FIRST}


@pytest.mark.parametrize("repair", ["wait", "snapshot"])
@pytest.mark.parametrize("turns", [0, BUSY], ids=["idle", "busy"])
def test_left_to_chance_a_repair_is_never_wrong(repair: str, turns: int) -> None:
    assert free(repair, 60, turns).wrong == 0


def test_an_error_between_upload_and_download_opens_the_gate() -> None:
    with pytest.raises(KeyError), OpenCLQueue(opens_at=1) as queue:  # noqa: PT012
        upload = queue.upload(queue.rows(FIRST))
        raise KeyError("next batch")
    queue.finish(upload._event, "upload")


def test_a_queue_that_is_dropped_with_its_gate_closed_does_not_hang() -> None:
    queue = OpenCLQueue(opens_at=1)
    queue.upload(queue.rows(FIRST))
    del queue


def test_a_command_that_does_not_complete_is_an_error_and_not_a_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(on_opencl, "SECONDS", 0.02)
    with OpenCLQueue(opens_at=1) as queue:
        upload = queue.upload(queue.rows(FIRST))
        with pytest.raises(OverdueError, match=r"the upload is not complete after 0\.02 s"):
            queue.finish(upload._event, "upload")


def test_a_download_before_any_upload_says_so() -> None:
    with OpenCLQueue() as queue, pytest.raises(RuntimeError, match="nothing was uploaded"):
        queue.download()


def test_less_than_no_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="turns=-1"):
        OpenCLQueue(turns=-1)


def test_a_queue_says_what_it_is() -> None:
    with OpenCLQueue() as queue, OpenCLQueue(opens_at=2) as held:
        assert repr(queue).endswith(": no gate>")
        assert repr(held).endswith(": gate opens at moment 2>")


def test_a_measurement_names_its_software_and_comes_back_from_its_file(tmp_path: Path) -> None:
    measured = measure(tries=5)
    measured.save(tmp_path / "pocl.json")
    assert Measurement.load(tmp_path / "pocl.json") == measured
    assert "PoCL" in measured.software["platform"]
    assert json.loads((tmp_path / "pocl.json").read_text())["machine"]["cpus"].isdigit()


def test_the_benchmark_has_a_row_for_each_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_witness, "TRIES", 10)
    found = list(bench_witness.rows())
    for repair in ("alias", "wait", "snapshot"):
        assert any(repair in row.name for row in found)
    assert all(row.kept for row in found if "alias" not in row.name)
