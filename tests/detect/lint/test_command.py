"""The command line: exit status, formats, levels, what it must not import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pinlab.commands import main as pinlab
from pinlab.detect.lint.command import main

WRONG = """\
import torch
class Batch:
    def __init__(self, n):
        self.lens = torch.zeros(n, pin_memory=True)
    def view(self, k):
        return self.lens[:k]
"""
RIGHT = WRONG.replace("self.lens[:k]", "self.lens[:k].clone()")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return str(path)


@pytest.fixture
def right(tmp_path: Path) -> str:
    path = tmp_path / "right.py"
    path.write_text(RIGHT)
    return str(path)


def test_findings_end_with_status_1(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([wrong]) == 1
    text = capsys.readouterr().out
    assert f"{wrong}:6: PIN001 error:" in text
    assert "`self.lens`" in text
    assert "line 4" in text
    assert ".clone()" in text
    assert "1 finding in 1 file" in text


def test_clean_files_end_with_status_0(right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([right]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_the_dispatcher_runs_the_command(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pinlab(["lint", wrong]) == 1
    assert "PIN001" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "at least one file"),
        (["no/such/file.py"], "no/such/file.py"),
        (["--level", "loud", "."], "loud"),
        (["--format", "xml", "."], "xml"),
        (["--enable", "PIN777", "."], "PIN777"),
        (["--jobs", "0", "."], "--jobs 0"),
    ],
)
def test_wrong_usage_ends_with_status_2_and_names_the_value(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert named in capsys.readouterr().err


def test_an_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert pinlab(["lnit"]) == 2
    assert "python -m pinlab lint" in capsys.readouterr().err


def test_json_rows_have_exactly_five_keys(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--format", "json", wrong]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert set(row) == {"path", "line", "rule", "level", "message"}
    assert (row["path"], row["line"], row["rule"], row["level"]) == (wrong, 6, "PIN001", "error")


def test_json_of_no_findings_is_an_empty_array(
    right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--format", "json", right]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_github_format_is_an_annotation_on_one_line(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--format", "github", wrong]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=")
    assert ",line=6,title=PIN001 pinned-view-escapes::" in line


def test_a_plain_array_is_a_note_and_shown_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plain.py"
    path.write_text(WRONG.replace(", pin_memory=True", ""))
    assert main([str(path)]) == 0
    assert main(["--level", "note", str(path)]) == 1
    assert "PIN002 note" in capsys.readouterr().out


def test_a_variable_makes_a_warning_that_level_error_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "maybe.py"
    path.write_text(
        WRONG.replace("pin_memory=True", "pin_memory=pin").replace("(self, n)", "(self, n, pin)")
    )
    assert main([str(path)]) == 1
    assert main(["--level", "error", str(path)]) == 0


def test_a_rule_can_be_disabled(wrong: str) -> None:
    assert main(["--disable", "PIN001", wrong]) == 0


def test_the_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules"]) == 0
    text = capsys.readouterr().out
    assert "PIN001" in text
    assert "opt-in" in text


def test_neither_torch_nor_numpy_nor_the_device_is_imported(wrong: str) -> None:
    code = (
        "import sys; from pinlab.commands import main; status = main(['lint', sys.argv[1]]);"
        "print([m for m in ('torch', 'numpy', 'pinlab.sim') if m in sys.modules], status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, wrong], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] 1"
