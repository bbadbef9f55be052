"""On what a measurement was made: the machine, and the versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "numpy", "matplotlib", "jupyterlab", "pyopencl")


def machine() -> dict[str, str | int | float]:
    """Model of the processor, cores that this process may use, memory in GiB, system."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _cores(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of Python, of the packages that matter, and the commit, where git is there."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if here := commit():
        found["pinlab"] = here
    return found


def commit() -> str:
    """The commit, with ``+`` if tracked files have changed since; empty without git."""
    try:
        short = _git("rev-parse", "--short", "HEAD")
        return short + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def in_words(facts: dict[str, str | int | float]) -> str:
    """The machine in a line.

    >>> in_words({"cpu": "Abacus 7", "cores": 2, "memory": 23.4, "system": "Linux x86_64"})
    'Abacus 7, 2 cores, 23.4 GiB, Linux x86_64'
    """
    return f"{facts['cpu']}, {facts['cores']} cores, {facts['memory']:g} GiB, {facts['system']}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _cores() -> int:
    return os.cpu_count() or 1


def _memory() -> float:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return 0.0
