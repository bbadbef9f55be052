"""No memory: none that may be locked, and none at all, at the call or when an operation runs."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim.modes import MODES
from tools.nursery import run_script

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
HUGE = 1 << 50  # elements; no machine has the address space


def here() -> int:
    return sys._getframe(1).f_lineno


NOTHING_MAY_BE_LOCKED = """
import os, resource, warnings
import torch
from pinlab import sim
sim.install()
torch.zeros(2, device="sim").copy_(torch.ones(2)).tolist()
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.geteuid() == 0:
    os.setuid(65534)  # the limit does not bind a privileged process
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    rows = [torch.tensor([5, 7]).pin_memory() for _ in range(3)]
    rows += [torch.zeros(n * 4096, pin_memory=True) for n in (1, 3, 9)]
    arena = torch.zeros(8192)
    with sim.host_register(arena):
        print(arena.is_pinned(), all(row.is_pinned() for row in rows))
with sim.hold():
    there = rows[0].to("sim", non_blocking=True)
    rows[0].fill_(40)
print(there.tolist())
for warning in said:
    print(warning.category.__name__, warning.lineno, warning.message)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on locked memory")
def test_where_nothing_may_be_locked_pinning_works_unlocked_and_says_so_once() -> None:
    done = run_script(NOTHING_MAY_BE_LOCKED, check=True)
    pinned, uploaded, *warnings = done.stdout.splitlines()
    assert (pinned, uploaded) == ("True True", "[40, 40]")  # read late, as pinned memory is
    assert len(warnings) == 1, done.stdout
    line = NOTHING_MAY_BE_LOCKED.splitlines().index(
        "    rows = [torch.tensor([5, 7]).pin_memory() for _ in range(3)]"
    )
    assert warnings[0].startswith(f"RuntimeWarning {line + 1} the operating system refused to lock")
    assert "pinned memory works here all the same" in warnings[0]
    assert done.stderr == ""


@pytest.mark.parametrize("mode", MODES)
def test_an_operation_that_runs_out_of_memory_is_named_at_the_wait_with_its_line(mode: str) -> None:
    with sim.mode(mode):
        there = torch.ones(1, device="sim")
        middle = there.expand(HUGE).median()  # one number, by way of a copy of all of them
        line = here() - 1
        after = there + 1  # not skipped
        with pytest.raises(sim.QueuedOperationError, match="allocate") as caught:
            middle.item()
        message = str(caught.value)
        assert message.startswith("aten.median.default failed on the device; queued at")
        assert f"test_memory.py:{line}: " in message
        gpu.synchronize()
        assert after.tolist() == [2]
        assert there.expand(4).median().item() == 1


CALLS = {
    "a device tensor": lambda: torch.empty(HUGE, device="sim"),
    "a result": lambda: torch.ones(1, device="sim").expand(HUGE) + 1,
    "a pinned tensor": lambda: torch.empty(HUGE, pin_memory=True),
    "a download": lambda: torch.ones(1, device="sim").expand(HUGE).to("cpu", non_blocking=True),
    "an upload": lambda: torch.ones(1).expand(HUGE).to("sim", non_blocking=True),
    "a larger size": lambda: torch.ones(1, device="sim").resize_(HUGE),
}


def refusal(what: str) -> str:
    """What the call says."""
    with pytest.raises(RuntimeError) as caught:
        CALLS[what]()
    if what not in ("a pinned tensor", "an upload"):  # torch itself refuses the host's part
        assert caught.type is torch.OutOfMemoryError, caught.value
    return str(caught.value)


@pytest.mark.parametrize("what", CALLS)
def test_what_cannot_be_allocated_is_refused_at_the_call_and_costs_nothing(what: str) -> None:
    gpu.synchronize()
    before = gpu.memory_allocated(), gpu.max_memory_allocated(), gpu.memory_reserved()
    assert "memory" in refusal(what)
    gc.collect()  # an error and its frames are a cycle
    gpu.synchronize()
    gpu.empty_cache()
    assert gpu.memory_allocated() == before[0]
    assert gpu.max_memory_allocated() <= before[1] + 1024
    assert gpu.memory_reserved() <= before[2]
    row = torch.tensor([3], pin_memory=True)
    assert (row.to("sim", non_blocking=True) + 1).tolist() == [4]
