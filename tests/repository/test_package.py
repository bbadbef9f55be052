"""What the package says about itself agrees everywhere, and importing it changes nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

import pinlab
from tools.nursery import run_script

ROOT = Path(__file__).resolve().parents[2]


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert pinlab.__version__ == project["version"] == citation["version"]


def test_the_citation_has_what_the_format_asks_for() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"].startswith("pinlab")
    assert citation["authors"] == [{"name": "The pinlab authors"}]


def test_code_and_text_have_their_licences() -> None:
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "Attribution 4.0" in (ROOT / "LICENSE-CONTENT").read_text()


def test_importing_pinlab_imports_no_torch_and_registers_no_device() -> None:
    code = "import sys, pinlab; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    code = "import pinlab, torch; print(hasattr(torch, 'sim'))"
    assert run_script(code, check=True).stdout.strip() == "False"
