"""The interpreter's end: with work queued, held, running or failed, it comes, and soon.

Importing torch takes most of an interpreter's life here. So the ends are tried in children of one
interpreter that has imported torch and nothing of pinlab: each installs the device, and ends as an
interpreter does. `make soak` starts two hundred from nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

BEGIN = """
import atexit, sys, threading, time
import torch
from pinlab import sim
sim.install()
gpu = torch.get_device_module(torch.device("sim"))
row = torch.ones(1000, pin_memory=True)
there = torch.zeros(1000, device="sim")
gpu.synchronize()
"""

# What is going on when the interpreter ends, and what it must have said (None: anything).
ENDS: dict[str, tuple[str, str | None]] = {
    "threads have much to do": (
        """
streams = [gpu.Stream() for _ in range(6)]
for _ in range(100):
    for stream in streams:
        with gpu.stream(stream):
            there.copy_(row, non_blocking=True)
            there + 1
""",
        "",
    ),
    "a copy takes ten minutes": (
        """
sim.link(latency=600.0)
for _ in range(3):
    there.copy_(row, non_blocking=True)
time.sleep(0.02)
""",
        "",
    ),
    "a kernel runs": (
        """
big = torch.ones(700, 700, device="sim")
for _ in range(200):
    big = big @ big
""",
        "",
    ),
    "lazy work is queued": (
        """
sim.mode("lazy").__enter__()
there.copy_(row, non_blocking=True)
there + 1
""",
        "",
    ),
    "a stream is held": (
        """
block = sim.hold()
block.__enter__()
there.copy_(row, non_blocking=True)
""",
        "",
    ),
    "a timer will release": (
        """
block = sim.hold(release_after=5.0)
block.__enter__()
there.copy_(row, non_blocking=True)
""",
        "",
    ),
    "another thread waits for a held stream": (
        """
block = sim.hold(timeout=600.0)
block.__enter__()
there.copy_(row, non_blocking=True)
threading.Thread(target=there.tolist, daemon=True).start()
time.sleep(0.02)
""",
        "",
    ),
    "an exit handler asks for a result": (
        """
def last():
    print((there.copy_(row, non_blocking=True) + 1).sum().item())
atexit.register(last)
atexit.unregister(sim.lifecycle.stop)
atexit.register(sim.lifecycle.stop)  # now the device ends first
there.copy_(row, non_blocking=True)
""",
        "2000.0",
    ),
    "an object asks for a result in its destructor": (
        """
class Late:
    def __del__(self, there=there):
        there.add_(1).sum().item()
late = Late()
late.itself = late
""",
        None,  # so late that torch itself may have to give up
    ),
    "nobody waited after a failure": (
        """
table, wrong = torch.zeros(3, 2, device="sim"), torch.tensor([7]).to("sim")
torch.nn.functional.embedding(wrong, table)
while sim.pending(): pass
""",
        "nobody waited after",
    ),
}


LIMIT = 240.0  # seconds of one cycle; about three on an idle machine, most of them torch's import
END = "\nprint('end of script')"

# One interpreter, forked once for each end; a child leaves the loop and runs on to its own exit.
NURSERY = """
import gc, json, os, sys, time
import torch, torch.distributed.tensor  # the second is what a subclass's first operator imports
gc.freeze()  # torch's own objects need not be searched for garbage at each end
folder, limit, scripts = sys.argv[1], float(sys.argv[2]), json.loads(sys.stdin.read())
for number, (name, script) in enumerate(scripts):
    child = os.fork()
    if not child:
        output = os.open(os.path.join(folder, str(number)), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        exec(script)
        break
    began, status = time.monotonic(), (0, 0)
    while status[0] == 0 and time.monotonic() - began < limit:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    late = status[0] == 0
    if late:
        os.kill(child, 9)
        status = os.waitpid(child, 0)
    print(json.dumps([name, late, os.waitstatus_to_exitcode(status[1]), number]), flush=True)
"""


def end_children(ends: list[str], limit: float, folder: Path) -> list[str]:
    """Let a child of one interpreter end in each way; what went wrong."""
    scripts = [(end, BEGIN + ENDS[end][0] + END) for end in ends]
    done = subprocess.run(
        [sys.executable, "-c", NURSERY, str(folder), str(limit)],
        input=json.dumps(scripts),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=limit,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ends, done.stderr
    return [p for end, *row, n in rows for p in _problems(end, *row, (folder / str(n)).read_text())]


def end_interpreters(ends: list[str], limit: float, at_once: int = 3) -> list[str]:
    """Start an interpreter for each end, a few at a time; what went wrong."""
    problems: list[str] = []
    waiting, running = list(ends), []  # type: list[str], list[tuple[str, float, subprocess.Popen[str]]]
    while waiting or running:
        while waiting and len(running) < at_once:
            end = waiting.pop(0)
            child = subprocess.Popen(
                [sys.executable, "-c", BEGIN + ENDS[end][0] + END],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            running.append((end, time.monotonic(), child))
        for one in running[:]:
            end, began, child = one
            late = time.monotonic() - began > limit
            if child.poll() is None and not late:
                continue
            running.remove(one)
            if late:
                child.kill()
            said, _ = child.communicate()
            problems += _problems(end, late, child.returncode, said)
        time.sleep(0.01)
    return problems


def _problems(end: str, late: bool, code: int, said: str) -> list[str]:
    if late:
        return [f"{end}: still there\n{said}"]
    wanted = ENDS[end][1]
    more = said.replace("end of script\n", "")
    right = wanted is None or (wanted in more if wanted else not more)
    if code != 0 or "end of script" not in said or not right:
        return [f"{end}: exit code {code}\n{said}"]
    return []


def answer(manager: KernelManager, code: str) -> str:
    """Run code in a fresh kernel, ask the kernel to end, and wait for that; what it printed."""
    said: list[str] = []
    manager.start_kernel(env={**os.environ, "OMP_NUM_THREADS": "1"})
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    reply = client.execute_interactive(
        code, timeout=60, output_hook=lambda message: said.append(str(message["content"]))
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    client.shutdown()  # a request: nobody kills it
    began = time.monotonic()
    while manager.is_alive():
        assert time.monotonic() - began < 60, "the kernel does not end"
        time.sleep(0.02)
    client.stop_channels()
    return "".join(said)


@pytest.mark.slow
def test_a_notebooks_kernel_can_be_restarted_with_work_running_and_held() -> None:
    manager = KernelManager(kernel_name="python3")
    try:
        busy = ENDS["threads have much to do"][0] + ENDS["a stream is held"][0]
        answer(manager, BEGIN + busy + "pass")  # a last value would be shown, hence waited for
        assert "0.0" in answer(manager, BEGIN + "print(there.sum().item())")
    finally:
        manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_twenty_interpreters_install_the_device_and_exit_with_work_queued(tmp_path: Path) -> None:
    ends = list(itertools.islice(itertools.cycle(ENDS), 20))
    assert end_children(ends, LIMIT, tmp_path) == []


@pytest.mark.slow
def test_interpreters_start_from_nothing_and_exit_with_work_queued() -> None:
    assert end_interpreters(["threads have much to do", "a stream is held"], LIMIT) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_interpreters_start_and_exit_with_work_queued() -> None:
    ends = list(itertools.islice(itertools.cycle(ENDS), 200))
    assert end_interpreters(ends, LIMIT) == []
