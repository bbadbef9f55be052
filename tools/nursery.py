"""Interpreters that need not import torch again: children of one that has, forked when asked for.

Nearly all of a lesson kernel's first seconds are torch's import. So the tests fork their kernels
and their scripts from one process that has imported it, and nothing of pinlab. A child has an
environment, a folder, outputs and a session of its own, and ends as an interpreter ends. What a
reader starts, `make run` and `make notebooks` start from nothing.

Only where a process can be forked and watched by a descriptor (Linux); `available()` says so.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The second is what torch imports at the first operator of a tensor subclass.
PRELOADED = ("torch", "torch.distributed.tensor", "matplotlib", "ipykernel.kernelapp")
PROCESS = Path(__file__).with_name("nursery_process.py")


def available() -> bool:
    """Whether children can be forked and watched here, and PINLAB_NURSERY=0 does not forbid it."""
    wanted = os.environ.get("PINLAB_NURSERY") != "0"
    return wanted and sys.platform == "linux" and hasattr(os, "pidfd_open")


class Nursery:
    """The process that is forked. One for each test process, started when first asked."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._asked = 0
        self._process = subprocess.Popen(
            [sys.executable, str(PROCESS), *PRELOADED],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # One thread, or it could not be forked; the backend that a kernel asks matplotlib for.
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONHASHSEED": "random",  # an order that depends on it shows sooner or later
                "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            },
        )
        atexit.register(self.close)

    def ask(self, **request: Any) -> dict[str, Any]:
        """One request, one reply.

        Raises:
            RuntimeError: if the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            self._asked += 1
            try:
                request["number"] = self._asked
                print(json.dumps(request), file=self._process.stdin, flush=True)
                # Ctrl-C or a test's time limit may have left the reply to an earlier request.
                while line := self._process.stdout.readline():
                    reply: dict[str, Any] = json.loads(line)
                    if reply["number"] == self._asked:
                        return reply
            except BrokenPipeError:
                pass
        raise RuntimeError(f"the nursery has ended, with {self._process.wait()}")

    def close(self) -> None:
        """Let it end; its children's parents are gone then."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it has ended, and a request is left over
                self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __repr__(self) -> str:
        return f"<Nursery {self._process.pid}: has imported {', '.join(PRELOADED)}>"


@functools.cache
def nursery() -> Nursery:
    """The one of this process."""
    return Nursery()


class ForkedChild:
    """A child of the nursery, watched as a `subprocess.Popen` is."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._descriptor = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """None while it runs, then 0; how it ended only its parent, the nursery, can know."""
        if self.returncode is None and select.select([self._descriptor], [], [], 0)[0]:
            os.close(self._descriptor)
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: after `timeout` seconds.
        """
        if self.returncode is None and not select.select([self._descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a child of the nursery", timeout or 0.0)
        self.poll()
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._descriptor, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<ForkedChild {self.pid}, {'running' if self.poll() is None else 'ended'}>"


def _request(
    code: str,
    argv: list[str],
    cwd: str,
    env: Mapping[str, str],
    outputs: tuple[str, str],
    limit: float | None = None,
) -> dict[str, Any]:
    """Ask for a child; with a `limit` the answer comes at its end."""
    stdout, stderr = outputs
    return nursery().ask(
        code=code, argv=argv, cwd=cwd, env=dict(env), stdout=stdout, stderr=stderr, limit=limit
    )


def fork(
    code: str, argv: list[str], cwd: str, env: Mapping[str, str], log: str | None = None
) -> ForkedChild:
    """A child that runs `code` with this `argv`; what it writes is appended to `log`."""
    out = log or os.devnull
    return ForkedChild(_request(code, argv, cwd, env, (out, out))["pid"])


def run_script(
    code: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 120.0,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `code` as ``python -c`` would, in an interpreter that has imported torch already.

    Args:
        env: the child's whole environment; None: this process's.
        check: raise if it fails, with what it said.

    Raises:
        subprocess.TimeoutExpired: after `timeout` seconds; the child is dead then.

    >>> run_script("import sys; print(1 + 1, 'torch' in sys.modules)").stdout  # doctest: +SKIP
    '2 True\\n'
    """
    run = _run_forked if available() else _run_fresh
    argv, folder = ["-c", *arguments], os.fspath(cwd or os.getcwd())
    done = run(code, argv, folder, os.environ if env is None else env, timeout)
    if check and done.returncode:
        said = f"{done.stdout}{done.stderr}"
        raise AssertionError(f"the script ended with {done.returncode}\n{said}")
    return done


def _run_fresh(
    code: str, argv: list[str], cwd: str, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *argv[1:]]
    return subprocess.run(
        command, env=env, cwd=cwd, timeout=timeout, capture_output=True, text=True, check=False
    )


def _run_forked(
    code: str, argv: list[str], cwd: str, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = os.path.join(folder, "stdout"), os.path.join(folder, "stderr")
        reply = _request(code, argv, cwd, env, files, timeout)
        out, err = (Path(file).read_text(errors="replace") for file in files)
    if reply["late"]:
        raise subprocess.TimeoutExpired("a script in the nursery", timeout, out, err)
    return subprocess.CompletedProcess(argv, reply["code"], out, err)
