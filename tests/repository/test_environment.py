"""environment.yml says the same as pyproject.toml, and Binder could build it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def conda() -> tuple[dict[str, str], list[str]]:
    """(package -> version and build as written, what pip installs)"""
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    specs = dict(str(item).partition("=")[::2] for item in listed if isinstance(item, str))
    pip = next(item["pip"] for item in listed if isinstance(item, dict))
    return specs, pip


def pins() -> dict[str, str]:
    """conda's name of each dependency -> its version in pyproject.toml"""
    found = {}
    for requirement in project()["dependencies"]:
        name, version = re.fullmatch(r"([\w-]+)==([\w.*]+)", requirement).groups()
        found[CONDA_NAMES.get(name, name)] = version
    return found


def test_both_files_name_the_same_packages() -> None:
    assert set(conda()[0]) - {"python", "pip"} == set(pins())


@pytest.mark.parametrize(("name", "version"), pins().items())
def test_a_package_has_the_same_version_in_both(name: str, version: str) -> None:
    assert conda()[0][name].split("=")[0] == version


def test_torch_is_pinned_to_one_minor_version_and_to_the_cpu_build_on_conda() -> None:
    assert pins()["pytorch"] == "2.13.*"
    assert conda()[0]["pytorch"] == "2.13.*=cpu*"


def test_python_is_pinned_within_what_the_package_allows() -> None:
    pinned = tuple(int(part) for part in conda()[0]["python"].split("."))
    lowest = tuple(int(part) for part in project()["requires-python"].removeprefix(">=").split("."))
    assert len(pinned) == 2
    assert pinned >= lowest


def test_the_package_itself_comes_from_the_checkout() -> None:
    assert conda()[1] == ["-e ."]


def test_channels_are_conda_forge_alone() -> None:
    text = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert text["channels"] == ["conda-forge", "nodefaults"]


def test_repo2docker_renders_a_dockerfile_that_uses_environment_yml() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-2000:]
    assert 'env update -p ${NB_PYTHON_PREFIX} --file "environment.yml"' in said
