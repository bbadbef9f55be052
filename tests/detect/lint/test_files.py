"""Files: which are found, what is odd about them, many at once, classes across files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinlab.detect.lint import Level, Options, lint_paths, lint_text
from pinlab.detect.lint.discovery import find_files

WRONG = b"""\
import torch
h = torch.tensor([1], pin_memory=True)
d = h.to("cuda", non_blocking=True)
h.fill_(0)
"""


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_folders_are_entered_and_environments_left_out(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "a.py": b"",
            "sub/b.py": b"",
            "sub/c.txt": b"",
            ".hidden/d.py": b"",
            "env/pyvenv.cfg": b"",
            "env/lib/e.py": b"",
            "node_modules/f.py": b"",
            "__pycache__/g.py": b"",
        },
    )
    found = [os.path.relpath(path, tmp_path) for path in find_files([str(tmp_path)])]
    assert found == ["a.py", "sub/b.py"]


def test_a_file_named_twice_is_checked_once(tmp_path: Path) -> None:
    _write(tmp_path, {"a.py": WRONG})
    path = tmp_path / "a.py"
    assert len(lint_paths([str(path), str(tmp_path), str(path)], Options())) == 1


def test_a_file_without_the_suffix_is_checked_when_named(tmp_path: Path) -> None:
    _write(tmp_path, {"script": WRONG})
    assert [f.rule for f in lint_paths([str(tmp_path / "script")], Options())] == ["PIN003"]


@pytest.mark.parametrize(
    ("data", "rule", "says"),
    [
        (b"def f(:\n", "PIN095", "syntax error"),
        (b"x = 1\n    y = 2\n", "PIN095", "indent"),
        (b"print 'two'\n", "PIN095", "syntax error"),
        (b"x = 1\x00\n", "PIN095", "null bytes"),
        (b"x = '\xff\xfe'\n", "PIN096", "utf-8"),
        (b"# -*- coding: no-such-codec -*-\nx = 1\n", "PIN096", "no-such-codec"),
        (b"# coding: ascii\nx = '\xe9'\n", "PIN096", "ascii"),
    ],
)
def test_what_does_not_parse_is_one_finding_and_never_fatal(
    tmp_path: Path, data: bytes, rule: str, says: str
) -> None:
    _write(tmp_path, {"odd.py": data, "wrong.py": WRONG})
    odd, wrong = lint_paths([str(tmp_path)], Options())
    assert (odd.rule, odd.level) == (rule, Level.ERROR)
    assert says in odd.message
    assert wrong.rule == "PIN003"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + WRONG,
        WRONG.replace(b"\n", b"\r\n"),
        b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + WRONG,
        "# coding: utf-8\n# ünïcödé\n".encode() + WRONG,
    ],
)
def test_declared_encodings_marks_and_line_ends_are_read(data: bytes) -> None:
    assert [finding.rule for finding in lint_text(data)] == ["PIN003"]


@pytest.mark.parametrize("data", [b"", b"\n", b"# only a remark", b"'''doc'''\n"])
def test_empty_files_are_clean(data: bytes) -> None:
    assert lint_text(data, Options(level=Level.NOTE)) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_a_finding(tmp_path: Path) -> None:
    _write(tmp_path, {"a.py": WRONG})
    (tmp_path / "a.py").chmod(0)
    assert [f.rule for f in lint_paths([str(tmp_path)], Options())] == ["PIN097"]


def test_a_dangling_link_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (finding,) = lint_paths([str(tmp_path)], Options())
    assert (finding.rule, "cannot be read" in finding.message) == ("PIN097", True)


def test_deep_nesting_is_a_finding_not_a_crash() -> None:
    deep = "x = " + "(" * 3000 + "1" + ")" * 3000 + "\n"
    assert {finding.rule for finding in lint_text(deep)} <= {"PIN095", "PIN097"}
    long_sum = "import torch\nh = torch.zeros(1, pin_memory=True)\ny = " + " + ".join(["h"] * 3000)
    assert {finding.rule for finding in lint_text(long_sum)} <= {"PIN097"}


def test_many_files_in_a_pool_give_the_same_findings(tmp_path: Path) -> None:
    _write(tmp_path, {f"m{n}.py": WRONG if n % 7 == 0 else b"x = 1\n" for n in range(60)})
    _write(tmp_path, {"bad.py": b"def f(:\n"})
    alone = lint_paths([str(tmp_path)], Options(), jobs=1)
    assert lint_paths([str(tmp_path)], Options(), jobs=2) == alone
    assert len(alone) == 10


HOLDER = b"""\
import torch
class CpuGpuBuffer:
    def __init__(self, *size, device, pin_memory):
        self.cpu = torch.zeros(*size, pin_memory=pin_memory)
        self.np = self.cpu.numpy()
        self.gpu = torch.zeros_like(self.cpu, device=device)
    def copy_to_gpu(self, n):
        return self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)
"""
USER = b"""\
import torch
from pkg.buffers import CpuGpuBuffer

class Runner:
    def __init__(self, n, device):
        self.lens = CpuGpuBuffer(n, device=device, pin_memory=True)

    def metadata(self, k):
        return Metadata(lens=torch.from_numpy(self.lens.np[:k]))

    def step(self, values):
        self.lens.np[: len(values)] = values
        self.lens.copy_to_gpu(len(values))
"""


def test_a_buffer_class_of_another_file_is_known(tmp_path: Path) -> None:
    _write(tmp_path, {"pkg/buffers.py": HOLDER, "pkg/runner.py": USER})
    found = lint_paths([str(tmp_path)], Options())
    assert [(Path(f.path).name, f.line, f.rule) for f in found] == [
        ("runner.py", 9, "PIN001"),
        ("runner.py", 12, "PIN003"),
    ]
    assert "`self.lens.cpu` (pinned at" in found[0].message
    assert "buffers.py:4" in found[0].message


def test_a_base_class_of_another_file_is_known(tmp_path: Path) -> None:
    base = b"""\
import torch
class Base:
    def __init__(self, n):
        self._lens = torch.zeros(n, pin_memory=True)
"""
    sub = b"""\
from base import Base
class Sub(Base):
    def view(self, k):
        return self._lens[:k]
"""
    _write(tmp_path, {"base.py": base, "sub.py": sub})
    found = lint_paths([str(tmp_path)], Options())
    assert [(Path(f.path).name, f.line) for f in found] == [("sub.py", 4)]


def test_two_classes_of_one_name_are_told_apart_or_left_alone(tmp_path: Path) -> None:
    plain = HOLDER.replace(b"pin_memory=pin_memory", b"pin_memory=pin_memory and False")
    _write(tmp_path, {"a/buffers.py": HOLDER, "b/buffers.py": plain})
    _write(tmp_path, {"user.py": USER.replace(b"pkg.buffers", b"elsewhere.things")})
    assert [f for f in lint_paths([str(tmp_path)], Options()) if "user.py" in f.path] == []
