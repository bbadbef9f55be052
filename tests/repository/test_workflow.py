"""The workflow files parse, run what they should, and name paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(path: Path) -> dict:
    return yaml.safe_load(path.read_text())["jobs"]


def commands(job: dict) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_has_a_runner_a_time_limit_and_steps(path: Path) -> None:
    for name, job in jobs(path).items():
        assert job["runs-on"], name
        assert 0 < job["timeout-minutes"] <= 60, name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), (name, step)


def test_linux_runs_the_command_that_everybody_runs() -> None:
    linux = jobs(ROOT / ".github" / "workflows" / "ci.yml")["linux"]
    assert linux["runs-on"] == "ubuntu-latest"
    assert "make test" in commands(linux)
    assert "make site" in commands(linux)


def test_macos_and_windows_run_the_device_and_the_first_lessons() -> None:
    job = jobs(ROOT / ".github" / "workflows" / "ci.yml")["elsewhere"]
    assert job["strategy"]["matrix"]["os"] == ["macos-latest", "windows-latest"]
    tested = " ".join(commands(job))
    assert "tests/sim" in tested
    assert "notebooks/0[123]*.ipynb" in tested


def test_paths_in_commands_exist() -> None:
    for path in WORKFLOWS:
        for job in jobs(path).values():
            for command in commands(job):
                for named in re.findall(r"\b(?:tests|notebooks|tools|src)/\S+", command):
                    assert list(ROOT.glob(named)), f"{path.name}: nothing matches {named}"


def test_the_ci_script_calls_make_test() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "make test" in script.splitlines()
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
