"""``tools/gpu_check.py``: what it writes, what it needs, when it fails."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pinlab.device import pick_device
from pinlab.device.measure import copy_costs, race_rates, wilson
from tools import gpu_check
from tools.nursery import run_script

ROOT = Path(gpu_check.__file__).resolve().parents[1]
NONE = {"available": False, "why": "no card here"}
CARD = {"available": True, "device": {"name": "some card"}, "conformance": []}


def check(passed: bool) -> dict[str, Any]:
    return {"claim": "a claim.", "passed": passed, "message": "" if passed else "it did not"}


def simulated(*passed: bool) -> dict[str, Any]:
    return {
        "available": True,
        "device": {"name": "simulated"},
        "conformance": [check(one) for one in passed],
    }


def in_the_nursery(
    command: list[str], env: dict[str, str], timeout: float, **_: Any
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` does, in a process that has imported torch already."""
    _, file, *arguments = command
    code = f"import runpy; runpy.run_path({file!r}, run_name='__main__')"
    return run_script(code, *arguments, env=env, timeout=timeout)


@pytest.mark.slow
def test_a_run_writes_one_file_with_the_part_of_each_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "deep" / "gpu.json"
    monkeypatch.setattr(gpu_check.subprocess, "run", in_the_nursery)
    assert gpu_check.main(["--quick", "--out", str(out)]) == 0  # the devices in processes of theirs
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["versions"]["torch"] == torch.__version__
    sim = found["devices"]["sim"]
    assert sim["device"]["name"] == "pinlab simulated accelerator"
    assert sim["held by"] == "a gate in the simulated queue"
    assert all(one["passed"] for one in sim["conformance"])
    assert {one["group"] for one in sim["conformance"]} == {
        *("uploads", "downloads", "layouts", "ordering", "lifetime")
    }
    assert len(sim["copies"]) == 2 * 8
    assert sim["race"][0]["tries"] == 20
    if not torch.cuda.is_available():
        cuda = found["devices"]["cuda"]
        assert set(cuda) == {"available", "why"}  # no number that was not measured
        assert "Looked for: a torch with CUDA" in cuda["why"]


@pytest.mark.gpu
def test_a_run_with_a_card_measures_it(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    command = [sys.executable, gpu_check.__file__, "--quick", "--require-cuda", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cuda = json.loads(out.read_text(encoding="utf-8"))["devices"]["cuda"]
    assert cuda["device"]["name"] == torch.cuda.get_device_name()
    assert len(cuda["copies"]) == 2 * 8


def test_it_fails_where_a_check_fails_or_a_card_is_required_and_missing() -> None:
    both = {"sim": simulated(True), "cuda": NONE}
    assert not gpu_check.failed(both, require_cuda=False)
    assert gpu_check.failed(both, require_cuda=True)
    assert gpu_check.failed({"sim": simulated(True, False), "cuda": CARD}, require_cuda=False)
    crashed = {"available": False, "why": "exit code -11", "crashed": True}
    assert gpu_check.failed({"sim": simulated(True), "cuda": crashed}, require_cuda=False)
    assert gpu_check.failed({"sim": NONE, "cuda": CARD}, require_cuda=False)


def test_it_says_a_line_per_device_and_per_failure() -> None:
    lines = gpu_check.summary({"sim": simulated(True, False), "cuda": NONE})
    assert lines == [
        "sim: simulated: 1 of 2 checks hold",
        "  FAILED a claim. it did not",
        "cuda: not measured. no card here",
    ]


def test_a_measurement_of_a_card_is_not_replaced_by_none(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    without, with_card = {"sim": simulated(True), "cuda": NONE}, {"cuda": CARD}
    assert gpu_check.would_lose_a_card(out, without) is None
    out.write_text(json.dumps({"devices": with_card}), encoding="utf-8")
    assert gpu_check.would_lose_a_card(out, without) == "some card"
    assert gpu_check.would_lose_a_card(out, with_card) is None


def test_a_committed_measurement_is_of_a_card() -> None:
    if gpu_check.DEFAULT.exists():
        found = json.loads(gpu_check.DEFAULT.read_text(encoding="utf-8"))
        assert found["devices"]["cuda"]["available"]


def test_it_needs_src_torch_and_numpy_only() -> None:
    files = [Path(gpu_check.__file__), *(ROOT / "src" / "pinlab" / "device").rglob("*.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            for name in names:
                top, *rest = name.split(".")
                if top == "pinlab":
                    assert not rest or rest[0] in ("device", "sim"), (path, name)
                else:
                    assert top in sys.stdlib_module_names | {"torch", "numpy"}, (path, name)


# -- the measurements ------------------------------------------------------------------------------


def test_copy_costs_cover_every_kind_of_copy() -> None:
    found = copy_costs(pick_device(), [1000], repeats=3)
    kinds = {(cost.direction, cost.memory, cost.non_blocking) for cost in found}
    assert len(found) == len(kinds) == 8
    for cost in found:
        assert 0 < cost.returned <= cost.done
        assert math.isclose(cost.bandwidth, 1000 / cost.done)


def test_race_rates_fall_with_the_hosts_delay() -> None:
    """The simulated device loses every race against a write that comes at once."""
    from pinlab import sim

    device = pick_device()
    if device.type != "sim":
        pytest.skip("needs the link model")
    with sim.link(latency=0.01):
        at_once, late = race_rates(device, [1000], [0.0, 8.0], tries=5)
    assert (at_once.lost, at_once.rate, at_once.high) == (5, 1.0, 1.0)
    assert late.delay >= 8 * late.copy
    assert late.rate < 1.0


@pytest.mark.parametrize(("successes", "tries"), [(0, 7), (3, 7), (7, 7), (1, 200)])
def test_wilsons_interval_holds_the_rates_that_its_test_does_not_reject(
    successes: int, tries: int
) -> None:
    """Its ends solve (rate - p)^2 = z^2 p (1 - p) / n."""
    z, rate = 1.959964, successes / tries
    for end in wilson(successes, tries):
        assert math.isclose((rate - end) ** 2, z * z * end * (1 - end) / tries, abs_tol=1e-12)


def test_wilson_refuses_what_is_no_rate() -> None:
    for successes, tries in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="is no rate"):
            wilson(successes, tries)
