"""What runs in the nursery: a loop that forks at each request; a child leaves it and lives on.

Started by `tools.nursery` as a script, with what to import first as its arguments. It has one
thread and queues nothing, so a fork is a whole copy of it. It imports nothing of pinlab: a child
imports and installs it as any fresh interpreter does.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _become(request: dict[str, Any]) -> None:
    """What an interpreter would have found at its start, as far as a program can tell."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody asks for it any more then
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.pop("JPY_PARENT_PID", None)  # the kernel's parent is this process, not the asker
    sys.argv = request["argv"]
    sys.path[0] = ""  # as of `python -c`


def _ended(child: int, limit: float) -> tuple[bool, int]:
    """Wait for a child; whether it had to be killed at the limit, and its exit code."""
    began, status = time.monotonic(), (0, 0)
    while status[0] == 0 and time.monotonic() - began < limit:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    late = status[0] == 0
    if late:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)
    return late, os.waitstatus_to_exitcode(status[1])


def _reap() -> None:
    """Children that ended since, so that none stays a zombie for long."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def next_child() -> str | None:
    """Serve requests until one forks this process: what the child has to run; None at the end."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    for line in requests:
        request = json.loads(line)
        _reap()
        child = os.fork()
        if not child:
            requests.close()
            replies.close()
            _become(request)
            return str(request["code"])
        reply: dict[str, object] = {"number": request["number"], "pid": child}
        if request["limit"] is not None:
            reply["late"], reply["code"] = _ended(child, request["limit"])
        replies.write(json.dumps(reply) + "\n")
    return None


def _leave_main() -> None:
    """Take this file's names out of ``__main__``, which is the child's from now on."""
    names = globals()
    for name in [name for name in names if not name.startswith("__") or name == "__file__"]:
        del names[name]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's would be ignored
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()  # what is imported here need not be searched for garbage in each child
    __code__ = next_child()
    if __code__ is not None:
        _leave_main()
        # Nothing is left to do after this line: a child ends as any interpreter does.
        exec(compile(__code__, "<string>", "exec"))
