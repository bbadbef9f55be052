"""Two notebooks at once: two processes, each with a device, a limit and temporary files of its own.

The two meet in a folder before and after each part, so each does the part while the other does it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.nursery import available, fork

pytestmark = pytest.mark.skipif(not available(), reason="needs Linux's process descriptors")

PART = """
import os, sys, time
from pathlib import Path

folder, me, other = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def meet(place):
    (folder / f"{place}.{me}").touch()
    end = time.monotonic() + 60
    while not (folder / f"{place}.{other}").exists():
        assert time.monotonic() < end, f"alone at {place}"
        time.sleep(0.002)

import torch
from pinlab import sim
from pinlab.classroom.history import History
from pinlab.detect import fence
from pinlab.device import pick_device
from pinlab.schedules import explore
from pinlab.sim import counters

device = pick_device()
value = float(me)

def program():
    row = torch.tensor([value, 7.0], pin_memory=True)
    there = row.to(device, non_blocking=True)
    row[1] = 40
    return there.tolist()

meet("start")
before = counters.locked_bytes()
rows = [torch.full((5000,), value, pin_memory=True) for _ in range(8)]
with sim.hold():
    there = [row.to(device, non_blocking=True) for row in rows]
    meet("both are held")  # neither waits for the other's stream
print("sum", sum(t.sum().item() for t in there))
moved = (counters.locked_bytes() - before).value
print("locked", moved is None or moved in (0, 8 * 32768))
report = explore(program, expect=[value, 7.0])
print("explored", sorted(map(str, report.outcomes)))
meet("both have explored")
print("fence", len(fence(program).hazards))
history = History()
meet("both have a history")
print("history", len(history), history.path.exists())
torch.manual_seed(3)
print("draws", torch.rand(2, device=device).tolist())
del history
meet("one history is gone")
print("end")
"""


@pytest.mark.timeout(110)
def test_two_processes_use_the_device_at_once_and_do_not_meet(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    logs = {me: tmp_path / f"log.{me}" for me in ("1", "2")}
    children = [
        fork(PART, ["-c", str(tmp_path), me, other], str(tmp_path), environment, str(logs[me]))
        for me, other in (("1", "2"), ("2", "1"))
    ]
    try:
        for child in children:
            child.wait(90)
    finally:
        for child in children:
            child.kill()
    said = {me: log.read_text().splitlines() for me, log in logs.items()}
    for me, lines in said.items():
        assert lines == [
            f"sum {8 * 5000 * float(me)}",
            "locked True",
            f"explored ['[{float(me)}, 40.0]', '[{float(me)}, 7.0]']",
            "fence 1",
            "history 12 True",
            lines[5],
            "end",
        ], "\n".join(lines)
    assert said["1"][5] == said["2"][5]  # one seed, one result
