"""Runs the scripts, one after the other, each in a process of its own: they measure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.row import Row

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 600.0  # seconds for one script: on a busy machine they take long


@dataclass
class Measured:
    """What one script gave.

    Attributes:
        script: its name without the folder, ``bench_launch``.
        rows: its rows; if it failed, those that it gave until then.
        series: the numbers behind its plots, as it named them.
        seconds: how long it ran. cpu: processor time of it and its children.
        failure: why it failed, in a line; empty if it did not.
    """

    script: str
    rows: list[Row] = field(default_factory=list)
    series: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cpu: float = 0.0
    failure: str = ""

    def __repr__(self) -> str:
        ended = f"FAILED: {self.failure}" if self.failure else f"{len(self.rows)} rows"
        return f"<{self.script}: {ended}, {self.took}>"

    @property
    def took(self) -> str:
        """Both times in words; on a free machine the first is about the second."""
        return f"{self.seconds:.0f} s, {self.cpu:.0f} s of processor"


def scripts(folder: Path = ROOT / "benchmarks") -> list[str]:
    """Every script, by name.

    >>> "bench_serving" in scripts()
    True
    """
    return sorted(path.stem for path in folder.glob("bench_*.py"))


def chosen(only: list[str], known: list[str]) -> list[str]:
    """The scripts that were asked for, with or without ``bench_``; all of them by default.

    >>> chosen(["launch"], ["bench_launch", "bench_lint"])
    ['bench_launch']

    Raises:
        ValueError: for a name that no script has.
    """
    names = [name if name.startswith("bench_") else f"bench_{name}" for name in only]
    for name in names:
        if name not in known:
            raise ValueError(f"no script {name!r}; there are {', '.join(known)}")
    return list(dict.fromkeys(names)) or known  # named twice, run once


def collect(
    names: list[str], seen: Callable[[Measured], None], loud: bool = False
) -> list[Measured]:
    """Run the scripts in order, and tell `seen` of each when it is through."""
    found = []
    for name in names:
        found.append(run(f"benchmarks.{name}", loud=loud))
        seen(found[-1])
    return found


def run(module: str, folder: Path = ROOT, limit: float = LIMIT, loud: bool = False) -> Measured:
    """Run one script, a module found from `folder`; with `loud` its output is shown as well."""
    measured = Measured(module.rpartition(".")[2])
    paths = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with tempfile.TemporaryDirectory() as place:
        out, said = Path(place, "rows"), Path(place, "said")
        command = [sys.executable, "-m", "benchmarks.child", module, str(out)]
        began, spent = time.perf_counter(), _children_cpu()
        with said.open("w") as errors:
            output = None if loud else subprocess.DEVNULL
            # A session of its own, so that a script that hangs is ended with its children.
            child = subprocess.Popen(
                command, cwd=folder, env=env, stdout=output, stderr=errors, start_new_session=True
            )
            measured.failure = _ended(child, limit)
        measured.seconds, measured.cpu = time.perf_counter() - began, _children_cpu() - spent
        if measured.failure == "error":
            measured.failure = _last_line(said) or f"exit status {child.returncode}"
        ended = _read(out, measured)
    if not ended and not measured.failure:
        measured.failure = f"left by itself after {len(measured.rows)} rows"
    if not measured.rows and not measured.failure and not _may_be_empty(module):
        measured.failure = "gave no row"
    return measured


def _ended(child: subprocess.Popen[bytes], limit: float) -> str:
    """Wait for the script; "" if it ended well."""
    try:
        return "error" if child.wait(limit) else ""
    except subprocess.TimeoutExpired:
        return f"not through after {limit:g} s"
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # all of it has ended
        child.wait()


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _read(out: Path, measured: Measured) -> bool:
    """Take the rows over; whether the script came to its end."""
    ended = False
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    for line in lines:
        found = json.loads(line)
        if "row" in found:
            measured.rows.append(Row(**found["row"]))
        measured.series.update(found.get("series", {}))
        ended = "ended" in found
    return ended


def _may_be_empty(module: str) -> bool:
    """The witness needs an optional extra, and says so itself."""
    return module.endswith("bench_witness")
