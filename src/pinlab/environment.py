"""``python -m pinlab check``: is this machine ready for the lessons, and if not, what to do.

It imports nothing beyond the standard library until it has said what is missing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

OK, NOTE, FAIL = "ok", "note", "FAIL"
PYTHON = (3, 11)
INSTALL = 'run `make lab` in the project\'s folder, or `python -m pip install -e ".[test]"`'
RESTART = "then restart the kernel"


@dataclass(frozen=True)
class Finding:
    """One line of the check.

    Attributes:
        level: ``"ok"``, ``"note"`` (the lessons work) or ``"FAIL"`` (they do not).
        what: what was looked at. found: what is there. advice: what to do, or "".
    """

    level: str
    what: str
    found: str
    advice: str = ""

    def __str__(self) -> str:
        lines = [f"{self.level:<5} {self.what:<13} {self.found}"]
        return "\n".join(lines + [f"      {'':<13} → {self.advice}"] * bool(self.advice))


def main(arguments: Sequence[str]) -> int:
    """Print the findings; 1 if one of them says FAIL."""
    parser = argparse.ArgumentParser(
        prog="python -m pinlab check",
        description="Looks at Python, the packages, the device, locked memory, the kernel and the "
        "tools around them. Exit status: 1 if the lessons would not run.",
    )
    try:
        parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    failed = notes = 0
    for finding in findings():
        print(finding)
        failed += finding.level == FAIL
        notes += finding.level == NOTE
    told = f"{notes} note{'s' * (notes != 1)}; docs/troubleshooting.md has more"
    print(f"\n{'not ready' if failed else 'ready'}: {failed} to mend, {told}")
    return int(bool(failed))


def findings() -> Iterator[Finding]:
    """Everything that is looked at, in order; what needs torch only if torch is there."""
    yield python(sys.version_info[:3])
    packages = list(_packages())
    yield from packages
    if all(finding.level != FAIL for finding in packages):
        yield from _device()
    yield kernel(_kernel_argv(), Path(sys.executable))
    yield threads(os.environ.get("OMP_NUM_THREADS"))
    yield _tool("git", "lesson 07's last section needs it: git-scm.com")
    yield _tool("make", "not needed: README.md has the commands without it")


def python(version: tuple[int, ...]) -> Finding:
    """
    >>> print(python((3, 9, 1)))
    FAIL  Python        3.9.1, needs 3.11 or newer
                        → make lab PYTHON=python3.12, or a newer Python from python.org or conda
    """
    text = ".".join(map(str, version))
    if version[:2] >= PYTHON:
        return Finding(OK, "Python", f"{text} on {platform.system()} {platform.machine()}")
    advice = "make lab PYTHON=python3.12, or a newer Python from python.org or conda"
    return Finding(FAIL, "Python", f"{text}, needs 3.11 or newer", advice)


def _packages() -> Iterator[Finding]:
    try:
        needed = importlib.metadata.requires("pinlab") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding(FAIL, "pinlab", "not installed here", f"{INSTALL}, {RESTART}")
        return
    for line in needed:
        if "extra ==" in line:
            continue
        name, _, pattern = line.partition("==")
        try:
            there: str | None = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            there = None
        yield package(name, there, pattern)


def package(name: str, there: str | None, pattern: str) -> Finding:
    """
    >>> print(package("torch", "2.13.0+cpu", "2.13.*"))
    ok    torch         2.13.0+cpu
    >>> package("numpy", None, "2.4.*").found
    'missing, needs 2.4.*'
    """
    if there is None:
        return Finding(FAIL, name, f"missing, needs {pattern}", f"{INSTALL}, {RESTART}")
    exact = re.escape(pattern).replace(r"\*", ".*")
    if re.fullmatch(exact, there.split("+")[0]):
        return Finding(OK, name, there)
    advice = f'python -m pip install "{name}=={pattern}" in the environment of the lessons'
    return Finding(FAIL, name, f"{there}, needs {pattern}", advice)


def _device() -> Iterator[Finding]:
    """The device at work, pinned pages, and a GPU if there is one."""
    try:
        torch = importlib.import_module("torch")
        device = importlib.import_module("pinlab.device").pick_device()
        there = torch.tensor([3, 5, 2], device=device) * 2
        result = there.tolist()
    except Exception as error:  # a broken torch raises many kinds
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        yield Finding(FAIL, "device", what, "see “The device does not start” there")
        return
    level = OK if result == [6, 10, 4] else FAIL
    yield Finding(level, "device", f"{device}: [3, 5, 2] * 2 = {result}")
    if device.type == "sim":
        yield _locked(torch)
        gpu = torch.cuda.is_available()
    else:
        gpu = False
    if gpu:
        advice = "not needed; PINLAB_DEVICE=cuda before the kernel starts runs the lines on it"
        yield Finding(NOTE, "GPU", torch.cuda.get_device_name(0), advice)


def _locked(torch: object) -> Finding:
    counters = importlib.import_module("pinlab.sim.counters")
    row = torch.zeros(262_144, pin_memory=True)  # type: ignore[attr-defined]  # 1 MiB
    limit = counters.lock_limit()
    return locked(bool(row.is_pinned()), bool(counters.is_locked(row)), str(limit))


def locked(pinned: bool, held: bool, limit: str) -> Finding:
    """
    >>> print(locked(True, False, "0 bytes"))
    note  locked pages  1 MiB refused by the system; limit 0 bytes
                        → raise `ulimit -l`, or go on: only lesson 02's VmLck stays where it is
    """
    if not pinned:
        return Finding(FAIL, "pinned memory", "pin_memory=True gives memory that is not pinned")
    if held:
        return Finding(OK, "locked pages", f"1 MiB pinned and locked; limit {limit}")
    advice = "raise `ulimit -l`, or go on: only lesson 02's VmLck stays where it is"
    return Finding(NOTE, "locked pages", f"1 MiB refused by the system; limit {limit}", advice)


def kernel(argv: Sequence[str] | None, python: Path) -> Finding:
    """Whether the kernel named python3 starts this interpreter.

    >>> kernel(None, Path("/venv/bin/python")).level
    'FAIL'
    """
    if not argv:
        advice = "python -m ipykernel install --sys-prefix"
        return Finding(FAIL, "kernel", "no kernel named python3 is installed", advice)
    command = argv[0]
    if command in ("python", "python3") or Path(command).absolute() == python.absolute():
        return Finding(OK, "kernel", "python3 starts this Python")
    advice = "python -m ipykernel install --sys-prefix, or choose the kernel of this environment"
    return Finding(NOTE, "kernel", "python3 starts another Python than this one", advice)


def _kernel_argv() -> list[str] | None:
    try:
        manager = importlib.import_module("jupyter_client.kernelspec").KernelSpecManager()
        folder = manager.get_kernel_spec("python3").resource_dir
        argv = json.loads((Path(folder) / "kernel.json").read_text(encoding="utf-8"))["argv"]
    except Exception:  # no jupyter_client, no such kernel, a damaged file
        return None
    return [str(part) for part in argv]


def threads(value: str | None) -> Finding:
    """
    >>> threads("1").level, threads(None).level
    ('ok', 'note')
    """
    if value == "1":
        return Finding(OK, "threads", "OMP_NUM_THREADS=1")
    found = f"OMP_NUM_THREADS={value}" if value else "OMP_NUM_THREADS is not set"
    return Finding(NOTE, "threads", found, "the lessons set one thread; the tests want it set to 1")


def _tool(name: str, advice: str) -> Finding:
    there = shutil.which(name) is not None
    return Finding(
        OK if there else NOTE, name, "found" if there else "not found", "" if there else advice
    )
