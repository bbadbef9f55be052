"""`python -m pinlab check`: what is wrong is named with its cure, also where torch is missing."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from pinlab import environment
from pinlab.environment import FAIL, NOTE, OK, findings, kernel, locked, main, package, python


def test_here_everything_that_the_lessons_need_is_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert ": [3, 5, 2] * 2 = [6, 10, 4]" in shown
    assert "\nready: 0 to mend" in shown
    for name in ("Python", "torch", "numpy", "jupyterlab", "kernel", "threads", "git"):
        assert f" {name} " in shown
    assert main(["--help"]) == 0
    assert main(["--loud"]) == 2


def test_a_missing_package_fails_the_check_and_torch_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = importlib.metadata.version

    def version(name: str) -> str:
        if name == "torch":
            raise importlib.metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {finding.what: finding for finding in findings()}
    assert found["torch"].level == FAIL
    assert "make lab" in found["torch"].advice
    assert "device" not in found
    assert main([]) == 1
    assert "not ready: 1 to mend" in capsys.readouterr().out


def test_a_torch_that_cannot_be_imported_is_one_line_and_no_traceback() -> None:
    code = "import sys; sys.modules['torch'] = None; from pinlab.commands import main; "
    code += "sys.exit(main(['check']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "FAIL  device" in done.stdout
    assert done.stderr == ""


def test_pinlab_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert [f.what for f in findings() if f.level == FAIL] == ["pinlab"]


def test_a_device_that_cannot_start_is_told_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PINLAB_DEVICE", "tpu")
    (found,) = [f for f in findings() if f.what == "device"]
    assert found.level == FAIL
    assert "PINLAB_DEVICE='tpu'" in found.found


@pytest.mark.parametrize(
    ("there", "level"),
    [("2.4.6", OK), ("2.4.0+local", OK), ("2.3.9", FAIL), ("2.40.1", FAIL), (None, FAIL)],
)
def test_versions_are_held_to_the_pins(there: str | None, level: str) -> None:
    assert package("numpy", there, "2.4.*").level == level


def test_an_old_python_a_refused_lock_and_a_foreign_kernel_have_advice() -> None:
    assert python((3, 13, 0)).level == OK
    for finding, level in [
        (python((3, 10, 9)), FAIL),
        (locked(True, False, "0 bytes"), NOTE),
        (kernel(["/usr/bin/python3", "-m"], Path("/venv/bin/python")), NOTE),
        (kernel(None, Path("/venv/bin/python")), FAIL),
    ]:
        assert finding.level == level
        assert "→" in str(finding)
    assert locked(False, False, "").level == FAIL
    assert locked(True, True, "unlimited").level == OK
    assert kernel(["/venv/bin/python"], Path("/venv/bin/python")).level == OK
    assert environment.threads("4").level == NOTE
