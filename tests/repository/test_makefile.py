"""The two commands, run for real on a stand-in for Python that writes down what it is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")

# As an interpreter it makes a "venv" whose python is itself; everything else it only records.
STAND_IN = """\
#!/bin/sh
echo "$@" >> calls.txt
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python";;
  "-m pip") test ! -e refuse_pip;;
esac
"""


class Checkout:
    """A folder with the Makefile, a lesson, and the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "pyproject.toml").touch()
        (folder / "notebooks").mkdir()
        for name in ("02_second.ipynb", "01_first.ipynb"):
            (folder / "notebooks" / name).touch()
        self.python = folder / "stand-in"
        self.python.write_text(STAND_IN)
        self.python.chmod(0o755)

    def make(self, *arguments: str, expect: int = 0) -> list[str]:
        """Run make and return what the interpreter was asked to do, a line per call."""
        log = self.folder / "calls.txt"
        log.unlink(missing_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        command = ["make", f"PYTHON={self.python}", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        assert done.returncode == expect, done.stdout + done.stderr
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def asked(calls: list[str], start: str) -> list[str]:
    return [call for call in calls if call.startswith(start)]


def test_lab_makes_an_environment_installs_and_opens_the_first_lesson(checkout: Checkout) -> None:
    calls = checkout.make("lab", "LAB_ARGS=--no-browser --port=9999")
    assert asked(calls, "-m venv .venv")
    assert asked(calls, "-m pip install -e .")
    (lab,) = asked(calls, "-m jupyterlab")
    assert lab.endswith("--no-browser --port=9999 notebooks/01_first.ipynb")


def test_lab_allows_root_only_to_root(checkout: Checkout) -> None:
    (lab,) = asked(checkout.make("lab"), "-m jupyterlab")
    assert ("--allow-root" in lab) == (os.getuid() == 0)


def test_test_installs_the_extra_and_runs_everything_in_order(checkout: Checkout) -> None:
    calls = checkout.make("test")
    assert asked(calls, "-m pip install -e .[test]")
    steps = [call for call in asked(calls, "-m") if call.split()[1] not in ("venv", "pip")]
    assert steps == [
        "-m ruff check .",
        "-m ruff format --check .",
        "-m mypy",
        "-m pytest -n 2 --dist loadfile",
    ]


def test_a_second_call_installs_nothing(checkout: Checkout) -> None:
    checkout.make("test")
    assert not asked(checkout.make("test"), "-m pip")
    assert not asked(checkout.make("lab"), "-m pip")


def test_a_changed_pyproject_installs_again(checkout: Checkout) -> None:
    checkout.make("test")
    later = (checkout.folder / ".venv" / ".installed-test").stat().st_mtime + 5
    os.utime(checkout.folder / "pyproject.toml", (later, later))
    assert asked(checkout.make("test"), "-m pip install")


def test_an_installation_that_failed_is_tried_again(checkout: Checkout) -> None:
    (checkout.folder / "refuse_pip").touch()
    checkout.make("lab", expect=2)
    (checkout.folder / "refuse_pip").unlink()
    assert asked(checkout.make("lab"), "-m pip install")


def test_pip_args_are_passed_on(checkout: Checkout) -> None:
    (pip,) = asked(checkout.make("lab", "PIP_ARGS=--no-cache-dir --quiet"), "-m pip")
    assert pip == "-m pip install --no-cache-dir --quiet -e ."


def test_an_old_python_is_refused_by_name(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    checkout.python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} -c "import sys; '
        "sys.version_info = (3, 9); exec('$2')\"\nexit 0\n"
    )
    done = subprocess.run(
        ["make", "lab", f"PYTHON={checkout.python}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_one_thread_per_process(checkout: Checkout) -> None:
    checkout.python.write_text(STAND_IN.replace('echo "$@"', 'echo "$@" threads=$OMP_NUM_THREADS'))
    (lab,) = asked(checkout.make("lab"), "-m jupyterlab")
    assert lab.endswith("threads=1")
