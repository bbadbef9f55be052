"""Poorer surroundings: a file system that cannot be written, none at all but memory, no /proc."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.faults.surroundings import NO_PROC, READ_ONLY
from tools.nursery import run_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts and /proc are Linux's")

NOWHERE = "/nonexistent"

# Each line of the output: a name, then what came of it.
USE = """
import io
import torch
from pinlab import sim
from pinlab.detect import fence, hazards
from pinlab.device import pick_device
from pinlab.schedules import explore

def said(name, use):
    try:
        print(name, "->", " ".join(str(use()).split()))
    except Exception as error:
        print(name, "!!", type(error).__name__, " ".join(str(error).split()))

device = pick_device()

def program():
    row = torch.tensor([5, 7], pin_memory=True)
    there = row.to(device, non_blocking=True)
    row[1] = 40
    return there.tolist()

def hazard():
    with hazards() as found:
        program()
    return len(found)

def figure():
    import matplotlib
    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    drawn = io.BytesIO()
    plt.figure().savefig(drawn)
    return len(drawn.getvalue()) > 100

def prediction():
    from pinlab.classroom import predict, reveal
    predict("01.1", 7)
    reveal("01.1", 7)

def quiz():
    from pinlab.__main__ import main
    return main(["quiz", "pre", "--letters", "a" * 12])

def history():
    from pinlab.classroom.history import History
    return len(History())

said("explore", lambda: explore(program, expect=[5, 7]).verdict)
said("fence", lambda: len(fence(program).hazards))
said("hazards", hazard)
"""
CLASSROOM = """
said("prediction", prediction)
said("quiz", quiz)
said("figure", figure)
said("history", history)
"""
COUNTERS = """
from pinlab.sim import counters
said("locked", counters.locked_bytes)
said("limit", lambda: counters.lock_limit().unit)
said("move", counters.locked_pages_may_move)
said("faults", lambda: counters.minor_faults().value > 0)
"""


def outcome(code: str, folder: Path, **more: str) -> dict[str, str]:
    """What came of each use, in a child that stands in `folder`."""
    env = {**os.environ, **more}
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        env.pop(name, None)
    done = run_script(code, env=env, cwd=folder, timeout=100, check=True)
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return {name: what for name, _, what in lines if what[:3] in ("-> ", "!! ")} | {
        "stderr": done.stderr
    }


def test_where_only_a_temporary_folder_can_be_written_all_but_the_quiz_works(
    tmp_path: Path,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    found = outcome(
        READ_ONLY + USE + CLASSROOM,
        tmp_path,
        WRITABLE=str(temporary),
        TMPDIR=str(temporary),
        HOME=NOWHERE,
    )
    errors = found.pop("stderr")
    assert found == {
        "explore": "-> program: 2 different outcomes",
        "fence": "-> 1",
        "prediction": "-> None",
        "quiz": "-> 2",
        "hazards": "-> 1",
        "figure": "-> True",
        "history": "-> 12",
    }
    assert "pinlab quiz: [Errno 30] Read-only file system: 'pinlab-quiz-pre.json'" in errors


def test_where_nothing_can_be_written_the_device_works_and_the_rest_says_what_it_needs(
    tmp_path: Path,
) -> None:
    found = outcome(READ_ONLY + USE + CLASSROOM, tmp_path, HOME=NOWHERE)
    found.pop("stderr")
    for drawing in ("figure", "prediction", "quiz", "history"):  # the classroom draws as well
        said = found.pop(drawing)
        assert said.startswith("!! OSError Matplotlib requires access to a writable cache")
        assert said.endswith("set the MPLCONFIGDIR environment variable to a writable directory")
    hazards = found.pop("hazards")
    if hazards != "-> 1":  # torch's compiler is imported by the first mode, unless it was before
        assert hazards.startswith("!! FileNotFoundError")
        assert "No usable temporary directory found in ['/tmp', " in hazards
    assert found == {"explore": "-> program: 2 different outcomes", "fence": "-> 1"}


def test_without_proc_all_works_and_the_counters_say_what_cannot_be_read(tmp_path: Path) -> None:
    found = outcome(NO_PROC + USE + COUNTERS, tmp_path)
    found.pop("stderr")  # torch reads /proc/cpuinfo, and says so
    assert found == {
        "explore": "-> program: 2 different outcomes",
        "fence": "-> 1",
        "hazards": "-> 1",
        "locked": "-> not readable (/proc/self/status on linux: No such file or directory)",
        "limit": "-> bytes",
        "move": "-> None",
        "faults": "-> True",
    }
