"""A notebook's kernel: interrupted while a cell waits, restarted with work queued and held.

What becomes of running and held work when the kernel is asked to end is in
`tests/sim/test_exit.py`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tools import nursery
from tools.execute import ThisEnvironment

BEGIN = """
import torch
from pinlab import sim
from pinlab.device import pick_device
device = pick_device()
gpu = torch.get_device_module(device)
row = torch.ones(1000, pin_memory=True)
there = torch.zeros(1000, device=device)
gpu.synchronize()
"""
HELD = """
block = sim.hold(timeout=600, release_after=500)
block.__enter__()
there.copy_(row, non_blocking=True)
there.add_(1)
print(len(sim.pending()))
"""


class Kernel:
    """A real kernel, and what its cells print."""

    def __init__(self, folder: Path) -> None:
        specs = ThisEnvironment(forked=nursery.available())
        self.manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
        self.manager.start_kernel(cwd=str(folder))
        self.connect()

    def connect(self) -> None:
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str) -> tuple[str, str]:
        """The reply's status, and what was printed."""
        said: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            said.append(message["content"].get("text", ""))

        reply = self.client.execute_interactive(code, timeout=60, output_hook=hear)
        return reply["content"]["status"], "".join(said).strip()

    def interrupt_when_it_waits(self, code: str) -> str:
        """Run a cell that waits; press stop once it says so; the name of what it raised."""
        # Otherwise the kernel answers what comes right after the exception with "aborted".
        number = self.client.execute(code, stop_on_error=False)
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if "waiting" in message["content"].get("text", ""):
                break
        self.manager.interrupt_kernel()
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"]["msg_id"] == number:
                return str(reply["content"].get("ename"))

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.timeout(110)
def test_stop_ends_a_cell_that_waits_and_restart_comes_back_with_work_queued(
    tmp_path: Path,
) -> None:
    kernel = Kernel(tmp_path)
    try:
        assert kernel.run(BEGIN + HELD) == ("ok", "2")
        waits = "print('waiting', flush=True)\nthere.sum().item()"
        assert kernel.interrupt_when_it_waits(waits) == "KeyboardInterrupt"
        assert kernel.run("print(len(sim.pending()) >= 2)") == ("ok", "True")
        release = "block.__exit__(None, None, None)\nprint(there.sum().item())"
        assert kernel.run(release) == ("ok", "2000.0")

        assert kernel.run(HELD) == ("ok", "2")  # the learner forgets it, and presses restart
        began = time.monotonic()
        kernel.client.stop_channels()
        kernel.manager.restart_kernel(now=False)
        kernel.connect()
        assert time.monotonic() - began < 60
        assert kernel.run(BEGIN + "print(len(sim.pending()), there.sum().item())") == (
            "ok",
            "0 0.0",
        )
    finally:
        kernel.end()
