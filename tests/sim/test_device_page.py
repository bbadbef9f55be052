"""The examples of docs/device.md run from top to bottom and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pinlab import sim

PAGE = Path(__file__).resolve().parents[2] / "docs" / "device.md"
PRINTED = ["[5, 40]", "[70]", "[8] sim:0", "[2, 2]", "True", "False", "[10]", "[12]"]


def test_the_examples_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    sim.install()
    sim.reset()
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == PRINTED
    for line in printed:
        assert f"# {line}" in page or line in page


def test_every_switch_of_a_platform_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in sim.Platform.__dataclass_fields__:
        assert f"`{name}=" in page, name
