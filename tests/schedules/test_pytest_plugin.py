"""The `explore_schedules` fixture, in test suites of other projects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.nursery import run_script

SUITE = """\
import torch
from pinlab import sim

sim.install()

def race():
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()

def repaired():
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.clone().to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()

def test_race(explore_schedules):
    assert explore_schedules(race, expect=[5, 7], pieces=2).correct

def test_repaired(explore_schedules):
    assert explore_schedules(repaired, expect=[5, 7]).correct

def test_helper_lines_of_the_test_file_count(explore_schedules):
    assert explore_schedules(race).explored == 2

def test_something_else(explore_schedules):
    assert explore_schedules(repaired, expect=[5, 7]).correct
    assert False, "for another reason"
"""


# Plugins that these suites do not need and that take seconds to import.
LIGHT = ("-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:hypothesispytest")


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    return run_script(code, "-q", *LIGHT, *options, cwd=folder, env=environment)


@pytest.mark.slow
def test_a_failure_prints_the_certificate_and_the_shortest_token(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    done = run_pytest(tmp_path, "test_suite.py")
    output = done.stdout
    assert "2 failed, 2 passed" in output, output + done.stderr
    assert output.count("-- schedules --") == 1  # not where every report was fine
    assert "race: 2 different outcomes" in output
    assert "right      " in output
    assert "WRONG      " in output
    assert 'To see it again: replay(race, "h", pieces=2)' in output


def test_the_plugin_does_not_import_torch() -> None:
    code = "import sys, pinlab.pytest_plugin; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
