"""The interpreter's end: with work queued, held, running or failed, it comes, and soon.

Importing torch takes most of an interpreter's life here. So the ends are tried in children of the
nursery, which has imported torch and nothing of pinlab: each installs the device, and ends as an
interpreter does. `make soak` starts two hundred from nothing.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time

import pytest
from jupyter_client.manager import KernelManager

from tools import nursery
from tools.execute import ThisEnvironment
from tools.nursery import run_script

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


def end_children(ends: list[str], limit: float) -> list[str]:
    """Let a child of one interpreter end in each way; what went wrong."""
    problems: list[str] = []
    for end in ends:
        try:
            done = run_script(BEGIN + ENDS[end][0] + END, timeout=limit)
        except subprocess.TimeoutExpired as late:
            problems += _problems(end, True, 0, f"{late.output}{late.stderr}")
        else:
            problems += _problems(end, False, done.returncode, done.stdout + done.stderr)
    return problems


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
    specs = ThisEnvironment(forked=nursery.available())
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
    try:
        busy = ENDS["threads have much to do"][0] + ENDS["a stream is held"][0]
        answer(manager, BEGIN + busy + "pass")  # a last value would be shown, hence waited for
        assert "0.0" in answer(manager, BEGIN + "print(there.sum().item())")
    finally:
        manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_twenty_interpreters_install_the_device_and_exit_with_work_queued() -> None:
    ends = list(itertools.islice(itertools.cycle(ENDS), 20))
    assert end_children(ends, LIMIT) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_interpreters_start_and_exit_with_work_queued() -> None:
    ends = list(itertools.islice(itertools.cycle(ENDS), 200))
    assert end_interpreters(ends, LIMIT) == []
