"""The conformance checks on this process's device, and, marked ``gpu``, on CUDA in another process.

``PINLAB_DEVICE=cuda pytest tests/conformance`` runs them on a GPU directly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.device import pick_device
from pinlab.device.conformance import CHECKS, Check, Mismatch, check, run


@pytest.fixture(scope="module")
def device() -> torch.device:
    return pick_device()


@pytest.mark.parametrize("name", CHECKS)
def test_the_device_conforms(name: str, device: torch.device) -> None:
    result = run(CHECKS[name], device)
    assert result.passed, f"{result.check.claim} {result.message}"


@pytest.mark.gpu
def test_cuda_conforms_in_a_process_of_its_own() -> None:
    if os.environ.get("PINLAB_DEVICE") == "cuda":
        pytest.skip("this process runs them on CUDA already")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:nbval",
            str(Path(__file__)),
        ],
        env={**os.environ, "PINLAB_DEVICE": "cuda", "CUDA_DEVICE_MAX_CONNECTIONS": "32"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_broken_promise_is_reported(device: torch.device) -> None:
    def wrong(device: torch.device) -> None:
        """Nothing."""
        check.expect(False, "as wrong as can be")

    result = run(Check("wrong", "none", "Nothing.", wrong), device)
    assert (result.passed, result.message) == (False, "Mismatch: as wrong as can be")
    with pytest.raises(Mismatch, match=r"there: expected \[1\], found \[2\]"):
        check.expect_values(torch.tensor([2]), [1], "there")


@pytest.mark.parametrize(
    "options",
    [{"name": "lazy"}, {"name": "lazy", "order": "reversed"}, {"name": "eager"}]
    + [{"name": "random", "seed": seed} for seed in range(3)],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_every_mode_of_the_simulated_device_conforms(
    options: dict[str, Any], device: torch.device
) -> None:
    _needs_sim(device)
    with sim.mode(**options):
        results = [run(one, device) for one in CHECKS.values()]
    assert not [f"{r.check.name}: {r.message}" for r in results if not r.passed]


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (
            sim.Platform(stage_pageable_uploads=False),
            {
                "pageable_upload_non_blocking_is_staged",
                "large_pageable_upload_non_blocking_is_staged",
            },
        ),
        (
            sim.Platform(pageable_downloads_block=False),
            {"pageable_download_non_blocking_waits", "strided_pinned_target_is_complete"},
        ),
        (
            sim.Platform(host_allocator_tracks=False),
            {
                "a_dropped_source_stays_until_its_copy_is_done",
                "a_dropped_target_stays_until_its_copy_is_done",
            },
        ),
        (
            sim.Platform(pinning=False),
            {
                "pinned_upload_non_blocking_reads_late",
                "pinned_download_non_blocking_fills_late",
                "to_cpu_non_blocking_is_pinned_and_filled_late",
                "views_of_pinned_memory_are_pinned",
                "factories_pin",
            },
        ),
    ],
    ids=lambda value: "" if isinstance(value, set) else str(value),
)
def test_another_platform_breaks_just_the_checks_of_its_switch(
    rules: sim.Platform, broken: set[str], device: torch.device
) -> None:
    _needs_sim(device)
    with sim.platform(rules):
        failed = {name for name, one in CHECKS.items() if not run(one, device).passed}
    if rules.pinning:
        assert failed == broken
    else:  # a held stream and ordinary memory: most checks cannot even begin
        assert broken <= failed


def _needs_sim(device: torch.device) -> None:
    if device.type != "sim":
        pytest.skip("needs the simulated device, which can change its rules")


def test_every_row_of_the_copy_table_has_its_check() -> None:
    rows = (
        "pageable → device, blocking",
        "pageable → device, non_blocking",
        "pinned → device, blocking",
        "pinned → device, non_blocking",
        "device → pageable, blocking",
        "device → pageable, non_blocking",
        "device → pinned, blocking",
        "device → pinned, non_blocking",
        '``there.to("cpu", non_blocking=True)``',
    )
    claims = [check.claim for check in CHECKS.values()]
    for row in rows:
        assert any(claim.startswith(row) for claim in claims), row
