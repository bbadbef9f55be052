"""The `no_hazards` fixture, in a test suite of somebody else's."""

from __future__ import annotations

import sys

import pytest

import pinlab.detect.hazards  # so that the inner run, in this process, does not import it anew
from pinlab import sim

pytest_plugins = ["pytester"]

SUITE = """\
import pytest
import torch

device = torch.accelerator.current_accelerator()


def step(row):
    lens = row.to(device, non_blocking=True)
    row.numpy()[1] = 40
    return lens.tolist()


def test_race(no_hazards):
    step(torch.tensor([5, 7], pin_memory=True))


def test_repaired(no_hazards):
    row = torch.tensor([5, 7], pin_memory=True)
    step(row.clone())


def test_expected_and_cleared(no_hazards):
    step(torch.tensor([5, 7], pin_memory=True))
    assert [hazard.buffer.name for hazard in no_hazards] == ["row"]
    no_hazards.clear()


def test_unwatched():
    step(torch.tensor([5, 7], pin_memory=True))


def test_read_too_early_and_wrong_anyway(no_hazards):
    late = torch.ones(2, device=device).to("cpu", non_blocking=True)
    late.tolist()
    assert False, "for another reason"
"""


def test_it_fails_a_test_at_its_end_with_kind_buffer_and_lines(pytester: pytest.Pytester) -> None:
    sim.install()
    sim.reset()
    pytester.makepyfile(test_suite=SUITE)
    tracer = sys.gettrace()
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    assert sys.gettrace() is tracer
    result.assert_outcomes(passed=4, failed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_race*",
            "1 hazard",
            "write to an upload's source: row (int64[[]2], 16 bytes), allocated at *:14",
            "  upload queued at test_suite.py:8  lens = row.to(device, non_blocking=True)",
            "  at test_suite.py:9  row.numpy()[[]1[]] = 40",
            "  bytes 07 became 28",
            "*ERROR at teardown of test_read_too_early_and_wrong_anyway*",
            "read of a download's destination: late *",
        ]
    )


def test_the_names_of_the_tools_can_be_called_in_every_order_of_imports() -> None:
    from pinlab import detect
    from pinlab.detect import Findings, Hazard, fence, hazards

    assert detect.hazards is hazards
    assert pinlab.detect.hazards.Hazard is Hazard
    assert pinlab.detect.hazards.hazards is not hazards
    with hazards() as found:
        pass
    assert type(found) is Findings
    assert callable(fence)
    with pytest.raises(AttributeError, match="no attribute 'hazard'"):
        _ = detect.hazard  # type: ignore[attr-defined]
