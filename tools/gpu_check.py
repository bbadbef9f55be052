"""Conformance and measurements on the simulated device and on a real GPU, into one JSON file.

    python tools/gpu_check.py                  # writes docs/measurements/gpu.json
    python tools/gpu_check.py --require-cuda   # and fails where there is no CUDA device

Needs ``src`` beside ``tools``, torch 2.11 or newer, and numpy. A process has one device, so each
one is tested in a process of its own. Where there is no CUDA device the file says so, and what was
looked for; it holds no number that was not measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ROOT / "docs" / "measurements" / "gpu.json"
SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]  # bytes
RACE_SIZES = [4 << 10, 1 << 20, 16 << 20]
DELAYS = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]  # in copy times
LIMIT = 900  # seconds for one device


# -- in the child: one device ----------------------------------------------------------------------


def examine(quick: bool) -> dict[str, Any]:
    """Everything about this process's device."""
    sys.path.insert(0, str(ROOT / "src"))
    import torch

    from pinlab.device import hold, pick_device
    from pinlab.device.conformance import CHECKS, run
    from pinlab.device.measure import copy_costs, race_rates

    try:
        device = pick_device()
    except (RuntimeError, ValueError) as error:
        return {"available": False, "why": str(error)}
    checks = [run(check, device) for check in CHECKS.values()]
    with hold() as gate:
        method = gate.method
    sizes, race_sizes, repeats, tries = SIZES, RACE_SIZES, 20, 200
    if quick:
        sizes, race_sizes, repeats, tries = SIZES[:2], RACE_SIZES[:1], 5, 20
    return {
        "available": True,
        "device": describe(torch, device),
        "held by": method,
        "conformance": [
            {
                "name": result.check.name,
                "group": result.check.group,
                "claim": result.check.claim,
                "passed": result.passed,
                "message": result.message,
                "observed": result.observed,
            }
            for result in checks
        ],
        "copies": [dataclasses.asdict(cost) for cost in copy_costs(device, sizes, repeats)],
        "race": [
            dataclasses.asdict(rate) for rate in race_rates(device, race_sizes, DELAYS, tries)
        ],
    }


def describe(torch: Any, device: Any) -> dict[str, Any]:
    """The card's name and its versions; for the simulated device its link model."""
    if device.type == "cuda":
        card = torch.cuda.get_device_properties(device)
        return {
            "name": card.name,
            "compute capability": f"{card.major}.{card.minor}",
            "memory": card.total_memory,
            "driver": driver_version(),
            "cuda of torch": torch.version.cuda,
        }
    from pinlab.sim.state import accelerator

    return {
        "name": torch.get_device_module(device).get_device_name(),
        "link": dataclasses.asdict(accelerator().link),
    }


def driver_version() -> str:
    """The CUDA version of the driver, e.g. "12.8" (from ``cuDriverGetVersion``)."""
    import ctypes

    from pinlab.device.driver import Driver, load_library

    version = ctypes.c_int()
    Driver(load_library()).call("cuDriverGetVersion", ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


# -- in the parent ---------------------------------------------------------------------------------


def examine_in_child(device: str, quick: bool) -> dict[str, Any]:
    """Run `examine` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = [sys.executable, __file__, "--child", str(out), *(["--quick"] if quick else [])]
        environment = {**os.environ, "PINLAB_DEVICE": device}
        environment.setdefault("OMP_NUM_THREADS", "1")
        # Streams that share a hardware queue wait behind a held one, which no check means.
        environment.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
        try:
            done = subprocess.run(
                command, env=environment, timeout=LIMIT, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return {"available": False, "why": f"not done after {LIMIT} s"}
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            return {"available": False, "why": last[0], "crashed": True}
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found


def report(devices: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The file's content."""
    import numpy
    import torch

    return {
        "format": 1,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "devices": devices,
    }


def summary(devices: dict[str, dict[str, Any]]) -> list[str]:
    """A line per device, and one per check that failed."""
    lines = []
    for name, found in devices.items():
        if not found["available"]:
            lines.append(f"{name}: not measured. {found['why']}")
            continue
        checks = found["conformance"]
        passed = sum(check["passed"] for check in checks)
        lines.append(f"{name}: {found['device']['name']}: {passed} of {len(checks)} checks hold")
        lines += [f"  FAILED {c['claim']} {c['message']}" for c in checks if not c["passed"]]
    return lines


def failed(devices: dict[str, dict[str, Any]], require_cuda: bool) -> bool:
    """Whether something that could be tested did not hold, or is required and missing."""
    for name, found in devices.items():
        if found.get("crashed") or (name == "sim" and not found["available"]):
            return True
        if name == "cuda" and require_cuda and not found["available"]:
            return True
        if not all(check["passed"] for check in found.get("conformance", ())):
            return True
    return False


def would_lose_a_card(out: Path, devices: dict[str, dict[str, Any]]) -> str | None:
    """The name of the card whose numbers `out` holds, if the new ones come from none."""
    if devices.get("cuda", {}).get("available") or not out.exists():
        return None
    old = json.loads(out.read_text(encoding="utf-8")).get("devices", {}).get("cuda", {})
    return str(old["device"]["name"]) if old.get("available") else None


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the file, say what came out."""
    parser = argparse.ArgumentParser(description="Conformance and measurements, sim and CUDA.")
    parser.add_argument("--out", type=Path, default=DEFAULT, help="the JSON file to write")
    parser.add_argument("--require-cuda", action="store_true", help="fail without a CUDA device")
    parser.add_argument("--quick", action="store_true", help="few sizes and tries")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        options.child.write_text(json.dumps(examine(options.quick)), encoding="utf-8")
        return 0
    devices = {name: examine_in_child(name, options.quick) for name in ("sim", "cuda")}
    print("\n".join(summary(devices)))
    card = would_lose_a_card(options.out, devices)
    if card is not None:
        print(f"{options.out} holds the numbers of {card} and stays; name another file with --out")
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report(devices), indent=1) + "\n", encoding="utf-8")
    print(f"written: {options.out}")
    return 1 if failed(devices, options.require_cuda) else 0


if __name__ == "__main__":
    sys.exit(main())
