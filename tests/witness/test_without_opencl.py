"""Without PyOpenCL or PoCL: an error that says what to install, and all that needs neither."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import bench_witness
from pinlab.witness import (
    FIRST,
    MOMENTS,
    OpenCLMissingError,
    OpenCLQueue,
    committed,
    find_context,
    gated,
    listed,
)

ROOT = Path(__file__).resolve().parents[2]
INSTALL = re.escape('python -m pip install -e ".[opencl]"')


@pytest.fixture
def no_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)


@pytest.mark.usefixtures("no_pyopencl")
def test_the_error_says_how_to_install_it() -> None:
    with pytest.raises(OpenCLMissingError, match=f"PyOpenCL cannot be imported .*{INSTALL}"):
        OpenCLQueue()
    with pytest.raises(OpenCLMissingError, match=INSTALL):
        gated("alias", 0)


@pytest.mark.parametrize("found", ["Some Other Platform", "none"])
def test_opencl_without_pocl_names_what_is_there(
    monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    platforms = [SimpleNamespace(name=found)] * (found != "none")
    other = SimpleNamespace(get_platforms=lambda: platforms, Error=RuntimeError)
    monkeypatch.setitem(sys.modules, "pyopencl", other)
    with pytest.raises(OpenCLMissingError, match=f"platforms are: {found}; PoCL .*{INSTALL}"):
        find_context.__wrapped__()


def test_a_device_that_runs_commands_in_the_calling_thread_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    basic = SimpleNamespace(name="basic-some processor")
    pocl = SimpleNamespace(name="Portable Computing Language", get_devices=lambda: [basic])
    other = SimpleNamespace(get_platforms=lambda: [pocl], Error=RuntimeError)
    monkeypatch.setitem(sys.modules, "pyopencl", other)
    with pytest.raises(OpenCLMissingError, match="basic-some processor; one that runs commands in"):
        find_context.__wrapped__()


def test_a_loader_without_any_platform_is_answered_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_found() -> None:
        raise RuntimeError("PLATFORM_NOT_FOUND_KHR")

    other = SimpleNamespace(get_platforms=none_found, Error=RuntimeError)
    monkeypatch.setitem(sys.modules, "pyopencl", other)
    with pytest.raises(OpenCLMissingError, match=f"PLATFORM_NOT_FOUND_KHR.*{INSTALL}"):
        find_context.__wrapped__()


@pytest.mark.usefixtures("no_pyopencl")
def test_the_benchmark_says_in_one_line_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(bench_witness.rows()) == []
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert '".[opencl]"' in said


def test_what_was_measured_is_within_what_the_explorer_lists() -> None:
    measured = committed()
    for repair, queues in measured.free.items():
        possible = {tuple(seen) for seen in listed(repair, pieces=3).outcomes.values_seen()}
        for tally in queues.values():
            assert {lengths for lengths, _ in tally.received} <= possible
            assert (repair == "alias") == (tally.wrong > 0)
        played = [tuple(lengths) for lengths in measured.gated[repair]]
        assert len(played) == MOMENTS
        assert set(played) == {tuple(seen) for seen in listed(repair).outcomes.values_seen()}
        assert played[0] == FIRST


def test_the_lesson_and_the_page_show_the_measured_numbers() -> None:
    lesson = json.loads((ROOT / "notebooks" / "05_the_race.ipynb").read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in lesson["cells"]]
    pages = [next(text for text in texts if "A queue nobody here wrote" in text)]
    pages.append((ROOT / "docs" / "witness.md").read_text(encoding="utf-8"))
    measured = committed()
    for page in pages:
        for repair, queues in measured.free.items():
            idle, busy = (queues[queue] for queue in ("idle", "busy"))
            rates = [f"{tally.wrong} of {tally.tries}" for tally in (idle, busy)]
            row = rf"\| {repair} \|.*\| {rates[0]} \| {rates[1]} \|"
            assert re.search(row, page), row


def test_importing_the_room_imports_no_pyopencl() -> None:
    for path in sorted((ROOT / "src" / "pinlab" / "witness").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert "pyopencl" not in " ".join(ast.dump(node) for node in named), path.name
