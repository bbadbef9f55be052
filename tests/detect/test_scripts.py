"""`python -m pinlab run` and `fence` on scripts that know nothing of pinlab.

Two scripts stand in tests/detect/scripts: a double-buffered loader and a runner with pairs of
buffers, each right and broken. They run in this process, so that torch is imported once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pinlab import sim
from pinlab.commands import main

SCRIPTS = Path(__file__).parent / "scripts"
LOADER, RUNNER = str(SCRIPTS / "loader.py"), str(SCRIPTS / "runner.py")

Pinlab = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pinlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Pinlab]:
    """``python -m pinlab …`` in this process: (exit status, standard output, standard error)."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PINLAB_HAZARDS", raising=False)
    sim.install()
    sim.reset()

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        return (status, *capsys.readouterr())

    yield run
    sim.reset()


def lines_of(path: str, *texts: str) -> list[str]:
    """``file:line`` of each line of a script that begins with a text."""
    source = [line.strip() for line in Path(path).read_text().splitlines()]
    return [
        f"{os.path.basename(path)}:{number}"
        for text in texts
        for number, line in enumerate(source, 1)
        if line.startswith(text)
    ]


def blamed(report: str) -> list[str]:
    """The places after "at" in printed findings."""
    return [line.split()[1] for line in report.splitlines() if line.startswith("  at ")]


@pytest.mark.parametrize("tool", [("run", "--hazards"), ("run", "--rough"), ("fence",)])
@pytest.mark.parametrize("script", [LOADER, RUNNER], ids=["loader", "runner"])
def test_the_right_script_is_silent(pinlab: Pinlab, tool: tuple[str, ...], script: str) -> None:
    status, out, err = pinlab(*tool, script, "right")
    assert status == 0, err
    assert out == ("total 2016.0\n" if script is LOADER else RIGHT)
    assert err.startswith("pinlab: no hazards")


RIGHT = "[405, 607, 809]\n[506, 708]\n[607, 809, 102, 304]\n"


def test_the_broken_loader_is_found_at_the_line_that_fills_the_buffer(pinlab: Pinlab) -> None:
    status, _, err = pinlab("run", "--hazards", LOADER, "broken")
    assert status == 1
    assert err.startswith("pinlab: 1 hazard\n")
    assert "write to an upload's source: rows (float32[4, 4], 64 bytes)" in err
    assert "and 1 time more" in err
    place = lines_of(LOADER, "np.copyto(rows")
    assert blamed(err) == place
    status, _, err = pinlab("fence", LOADER, "broken")
    assert status == 1
    assert set(blamed(err)) == set(place)


def test_the_broken_runner_is_found_line_by_line(
    pinlab: Pinlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINLAB_HAZARDS", "1")
    status, _, err = pinlab("run", RUNNER, "broken")
    places = lines_of(RUNNER, "self.seq_lens.np[:n] =", "self.positions.np[:n] =")
    places += lines_of(RUNNER, "self.seq_lens.np[n:] =")
    assert status == 1
    assert blamed(err) == places
    status, _, err = pinlab("fence", RUNNER, "broken")
    assert status == 1
    assert blamed(err) == places


def test_a_result_that_is_read_before_its_download_is_over_is_found(pinlab: Pinlab) -> None:
    place = lines_of(RUNNER, "return [int(token)")
    status, _, err = pinlab("run", "--hazards", RUNNER, "late")
    assert status == 1
    assert "read of a download's destination" in err
    assert blamed(err) == place
    status, _, err = pinlab("fence", RUNNER, "late")
    assert (status, blamed(err)) == (1, place)


def test_without_hazards_the_script_just_runs(pinlab: Pinlab) -> None:
    status, out, err = pinlab("run", RUNNER, "late")
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("source", "status", "err"),
    [
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('no model')", 1, "no model\n"),
    ],
)
def test_exit_statuses_are_the_scripts(
    pinlab: Pinlab, tmp_path: Path, source: str, status: int, err: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(source)
    assert pinlab("run", str(script)) == (status, "", err)
    fenced = pinlab("fence", str(script))
    assert fenced[0] == status
    assert fenced[2].startswith(err)


def test_a_script_that_insists_on_cuda_is_told_what_to_do(pinlab: Pinlab, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.zeros(2, device='cuda')\n")
    for tool in ("run", "fence"):
        status, _, err = pinlab(tool, str(script))
        assert status == 1
        assert "torch.accelerator.current_accelerator()" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "required: script.py"),
        (["run", "nowhere.py"], "there is no script 'nowhere.py'"),
        (["fence", str(SCRIPTS)], "is a folder; it takes a script"),
        (["fence", "--timeout", "0", RUNNER, "right"], "timeout=0.0 s; it must be above 0"),
    ],
)
def test_wrong_usage_is_status_2(pinlab: Pinlab, arguments: list[str], message: str) -> None:
    status, _, err = pinlab(*arguments)
    assert status == 2
    assert message in err


def test_an_unknown_value_of_the_variable_is_an_error(
    pinlab: Pinlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINLAB_HAZARDS", "maybe")
    status, _, err = pinlab("run", RUNNER, "right")
    assert status == 2
    assert "PINLAB_HAZARDS='maybe'; it can be 0, 1 (exact lines) or rough" in err


ALIKE = """\
import pickle, sys, os
import beside

class Local:
    pass

def fail():
    raise KeyError(os.path.basename(__file__))

print(sys.argv, __name__, sys.path[0], __file__, sys.modules["__main__"].Local is Local)
print(type(pickle.loads(pickle.dumps(Local()))).__module__, beside.VALUE, __spec__, __doc__)
if __name__ == "__main__":
    fail()
"""


@pytest.mark.slow
def test_a_script_sees_and_prints_what_it_would_under_python(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "script.py").write_text(ALIKE)
    (tmp_path / "sub" / "beside.py").write_text("VALUE = 5")
    outcomes = []
    for way in ([], ["-m", "pinlab", "run"]):
        done = subprocess.run(
            [sys.executable, *way, "sub/script.py", "--hazards", "x"],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PINLAB_HAZARDS": ""},
            capture_output=True,
            text=True,
            timeout=100,
        )
        outcomes.append((done.returncode, done.stdout, done.stderr))
    assert outcomes[0] == outcomes[1]
    assert "KeyError: 'script.py'" in outcomes[0][2]
