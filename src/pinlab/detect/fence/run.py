"""Runs of the child, from the parent's side: start one, wait for it, hear what it said."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from typing import IO, NoReturn

from pinlab.detect.fence.access import Access
from pinlab.detect.fence.anew import fork_anew
from pinlab.detect.fence.child import Program, run_fenced
from pinlab.detect.fence.plan import Died, Ended, Messages, Plan

GRACE = 5.0  # seconds after which a child that does not end by itself is killed


@dataclass
class Run:
    """What one child did.

    Attributes:
        accesses: what the fence caught, in order.
        last: how it ended; None if it was killed or crashed, see `status`.
        out, err: what it printed.
        late: where its threads stood when its time was up; "" if it was not.
        status: the process's exit status, negative for a signal.
    """

    accesses: list[Access] = field(default_factory=list)
    last: Died | Ended | None = None
    out: str = ""
    err: str = ""
    late: str = ""
    status: int = 0


def run_once(program: Program, plan: Plan, limit: float) -> Run:
    """Run the program in a child with the fence up; at most `limit` seconds."""
    messages = Messages()
    with contextlib.ExitStack() as stack:
        out, err, late = (stack.enter_context(_file()) for _ in range(3))

        def child() -> NoReturn:
            run_fenced(program, plan, messages, (out.fileno(), err.fileno()), late, limit)

        run = Run(status=_wait(fork_anew(child), limit + GRACE))
        for message in messages.read():
            if isinstance(message, Access):
                run.accesses.append(message)
            else:
                run.last = message
        run.out, run.err, run.late = (_content(file) for file in (out, err, late))
        return run


def _file() -> IO[str]:
    """In memory: there may be no folder that can be written."""
    file = os.memfd_create("pinlab-fence-output")
    return os.fdopen(file, "w+", encoding="utf-8", errors="replace")


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _wait(process: int, limit: float) -> int:
    """Its exit status; it is killed when its time is up, or when this wait is interrupted."""
    deadline, pause = time.monotonic() + limit, 0.001
    try:
        while time.monotonic() < deadline:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                process = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(pause)
            pause = min(0.02, pause * 1.5)
    finally:
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return -signal.SIGKILL
