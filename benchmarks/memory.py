"""The most memory that a process has held, where the system tells."""

from __future__ import annotations

import re
from pathlib import Path

STATUS = "/proc/{}/status"


def peak_megabytes(pid: int | str) -> float | None:
    """The peak of a process's resident set in 10^6 bytes; None where the system does not tell.

    ``VmHWM`` of proc_pid_status(5), Linux; `pid` may be ``"self"``.
    """
    try:
        status = Path(STATUS.format(pid)).read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None
