"""One run of the program, in a process of its own, with the fence up."""

from __future__ import annotations

import errno
import faulthandler
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import IO, NoReturn

from pinlab.detect.fence.guard import DIED, Guard
from pinlab.detect.fence.line_trace import before_lines
from pinlab.detect.fence.plan import Died, Ended, Messages, Plan
from pinlab.detect.fence.trap import catch_faults
from pinlab.detect.hazards.line import user_line
from pinlab.detect.script import exit_status, print_error
from pinlab.sim.state import accelerator, host_memory

Program = Callable[[], object]


def run_fenced(
    program: Program,
    plan: Plan,
    messages: Messages,
    output: tuple[int, int],
    late: IO[str],
    limit: float,
) -> NoReturn:
    """Run the program; this process ends here.

    Args:
        output: files for what it prints, standard output and standard error.
        late: where the lines are written at which its threads stand after `limit` seconds.
    """
    _redirect(output)
    faulthandler.dump_traceback_later(limit, exit=True, file=late)
    guard = Guard(plan, messages.send)
    guard.watch(host_memory)
    accelerator().observers.append(guard)
    catch_faults(guard.fault)
    before_lines(plan.opened, guard.open_all, guard.line_over)
    try:
        program()
        ended = Ended()
    except SystemExit as stop:
        ended = Ended("finished", exit_status(stop))
    except BaseException as error:
        sys.settrace(None)
        ended = _raised(error, guard)
    sys.settrace(None)
    guard.line_over()
    sys.stdout.flush()
    sys.stderr.flush()
    messages.send(ended)
    os._exit(0)


def _raised(error: BaseException, guard: Guard) -> Ended:
    """Tell of an error, unless it was the fence that made a system call fail: then die of it."""
    if isinstance(error, OSError) and error.errno == errno.EFAULT and guard.parts:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        guard.send(Died(user_line(frames[-1]), refused=True))
        os._exit(DIED)
    print_error(error)
    last = traceback.format_exception_only(error)[-1].strip()
    return Ended(f"raised {last}", 1)


def _redirect(output: tuple[int, int]) -> None:
    """Standard output and error into files, for C code as well as for Python."""
    for stream, file in zip((1, 2), output, strict=True):
        os.dup2(file, stream)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), line_buffering=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), line_buffering=True)
