"""Memory and processor time of each learner's processes, read from Linux's /proc.

A learner's processes are the server that the hub started with the learner's folder as HOME, and
its children, kernels included. Memory is the *proportional* share (Pss): a page that ten processes
share counts a tenth in each, so the sum over learners is what the machine needs. Processor time of
a kernel that has ended is in its server's account of its children.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Usage:
    """Largest memory seen (bytes) and processor time so far (seconds) of one learner."""

    memory: int = 0
    cpu: float = 0.0

    def add(self, memory: int, cpu: float) -> None:
        """Take one reading."""
        self.memory = max(self.memory, memory)
        self.cpu = max(self.cpu, cpu)


def read(homes: dict[str, Path], usages: dict[str, Usage]) -> None:
    """Take one reading of every learner.

    Args:
        homes: by learner, the folder that their processes have as HOME.
        usages: by learner, what is kept; changed in place.
    """
    by_home = {str(home): name for name, home in homes.items()}
    found: dict[str, list[int]] = {name: [] for name in homes}
    for process in _processes():
        name = by_home.get(_home_of(process))
        if name is not None:
            found[name].append(process)
    for name, processes in found.items():
        memory = sum(_memory_of(process) for process in processes)
        usages[name].add(memory, sum(_cpu_of(process) for process in processes))


def _processes() -> Iterable[int]:
    return (int(path.name) for path in PROC.iterdir() if path.name.isdigit())


def _home_of(process: int) -> str:
    try:
        environment = (PROC / str(process) / "environ").read_bytes()
    except OSError:  # ended meanwhile, or somebody else's
        return ""
    found = (entry for entry in environment.split(b"\0") if entry.startswith(b"HOME="))
    return os.fsdecode(next(found, b"HOME=")[5:])


def _memory_of(process: int) -> int:
    try:
        lines = (PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _cpu_of(process: int) -> float:
    """Seconds of the process and of its children that have ended."""
    try:
        fields = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICKS
