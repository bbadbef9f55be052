"""Forked interpreters: to a script and to a kernel they are fresh ones, and they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kernels import run_cells
from tools import nursery
from tools.nursery import ForkedChild, fork, run_script

pytestmark = pytest.mark.skipif(not nursery.available(), reason="no process is forked here")

SELF = """
import os, sys
print(sorted(name for name in globals() if not name.startswith("__")), __name__)
print(sys.argv, os.getcwd(), dict(os.environ).get("LESSON"), len(os.environ))
print("torch" in sys.modules, [name for name in sys.modules if name.split(".")[0] == "pinlab"])
print(os.getsid(0) == os.getpid(), sys.stdin.read() == "", __import__("threading").active_count())
"""


def test_a_script_finds_what_a_fresh_interpreter_would_and_torch(tmp_path: Path) -> None:
    environment = {"LESSON": "03", "JPY_PARENT_PID": "replaced"}
    done = run_script(SELF, "x", "y", env=environment, cwd=tmp_path, check=True)
    assert done.stdout.splitlines() == [
        "['os', 'sys'] __main__",
        f"['-c', 'x', 'y'] {tmp_path} 03 1",
        "True []",
        "True True 1",
    ]


def test_scripts_know_nothing_of_each_other() -> None:
    first = "import torch, pinlab.sim; pinlab.sim.install(); torch.manual_seed(1); left = 1"
    run_script(first, check=True)
    second = (
        "import torch; print(torch.initial_seed() == 1, hasattr(torch, 'sim'), 'left' in dir())"
    )
    assert run_script(second).stdout.split() == ["False"] * 3


def test_the_exit_code_and_both_outputs_come_back() -> None:
    done = run_script("import sys; print('out'); sys.stderr.write('err'); sys.exit(7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err")
    done = run_script("import atexit; atexit.register(print, 'last'); 1 / 0")
    assert (done.returncode, done.stdout) == (1, "last\n")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    with pytest.raises(AssertionError, match="ended with 1"):
        run_script("1 / 0", check=True)


def test_a_signal_that_ends_a_script_is_its_code() -> None:
    done = run_script("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -signal.SIGKILL


def test_a_script_that_does_not_end_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired) as late:
        run_script("import time; print('begun', flush=True); time.sleep(60)", timeout=0.5)
    assert late.value.output == "begun\n"


def test_a_reply_that_nobody_waited_for_is_not_taken_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(nursery.nursery()._process.stdout, "readline", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_script("print('first')")
    done = run_script("import sys; print('second'); sys.exit(3)")
    assert (done.returncode, done.stdout) == (3, "second\n")


def test_a_nursery_that_has_ended_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "PRELOADED", ())
    gone = nursery.Nursery()
    gone._process.kill()
    gone._process.wait()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the nursery has ended, with -9"):
            gone.ask(code="1")
    gone.close()


def test_a_child_is_watched_and_signalled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import time; print('here', flush=True); time.sleep(60)"
    child = fork(code, ["sleeper"], os.getcwd(), os.environ, str(log))
    while not log.exists() or "here" not in log.read_text():
        assert child.poll() is None, log.read_text()
        time.sleep(0.01)
    assert repr(child) == f"<ForkedChild {child.pid}, running>"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=0.01)
    child.terminate()
    assert child.wait(timeout=30) == 0
    child.kill()  # too late, and no error
    assert repr(child) == f"<ForkedChild {child.pid}, ended>"


def test_a_kernel_is_a_fresh_one(tmp_path: Path) -> None:
    cells = [
        "import sys, os; [n for n in sys.modules if n.startswith('pinlab')], os.getcwd()",
        "raise_signal = __import__('signal').raise_signal\n"
        "try:\n    raise_signal(__import__('signal').SIGINT)\n"
        "except KeyboardInterrupt:\n    print('interrupted')",
        "import matplotlib.pyplot as plt; plt.get_backend()",
        "plt.figure(figsize=(1, 1)).add_subplot(); plt.show()",
    ]
    first, second, third, fourth = (cell.outputs for cell in run_cells(cells, tmp_path))
    assert first[0].data["text/plain"] == repr(([], str(tmp_path)))
    assert second[0].text == "interrupted\n"
    assert third[0].data["text/plain"] == "'module://matplotlib_inline.backend_inline'"
    assert "image/png" in fourth[0].data


def test_the_nursery_and_a_kernel_end_when_the_process_that_asked_has_gone() -> None:
    code = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(nursery.__file__).parents[1])!r})\n"
        "from tools import forked_kernel, nursery\n"
        "nursery.PRELOADED = ('ipykernel.kernelapp',)\n"
        "child = nursery.fork(forked_kernel.LAUNCH, ['kernel'], '/tmp', dict(os.environ))\n"
        "print(child.pid, nursery.nursery()._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for pid in said.stdout.split():
        try:
            assert ForkedChild(int(pid)).wait(timeout=30) == 0
        except ProcessLookupError:
            pass  # it has ended already


def test_without_a_nursery_a_script_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINLAB_NURSERY", "0")
    assert not nursery.available()
    done = run_script("import sys; print(sys.argv, 'torch' in sys.modules); sys.exit(3)", "x")
    assert (done.returncode, done.stdout) == (3, "['-c', 'x'] False\n")
