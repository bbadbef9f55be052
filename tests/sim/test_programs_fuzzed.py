"""Random torch programs on the device, in every mode, against the CPU; and planted faults found."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.sim import dispatch
from pinlab.sim.blocks import Allocation
from pinlab.sim.streams import Stream
from tests.sim import fuzzed_writer
from tests.sim.fuzzed_program import Program, quietly

sim.install()
FAST = ("'threaded'", "'lazy'", "'random', seed=1")
ALL = (*FAST, "'eager'", "'lazy', order='reversed'", "'random', seed=2", "'random', seed=3")
GENE = st.binary(min_size=fuzzed_writer.GENE, max_size=fuzzed_writer.GENE)


def check(genes: list[bytes], modes: tuple[str, ...]) -> None:
    """Fail, with a script that shows it, if a mode of the device differs from the CPU."""
    program = fuzzed_writer.write(genes)
    for mode in modes:
        if problem := program.difference(mode):
            pytest.fail(problem)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(GENE, min_size=6, max_size=24))
def test_random_programs_agree_with_the_cpu(genes: list[bytes]) -> None:
    quietly(lambda: check(genes, FAST))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(GENE, min_size=12, max_size=40))
def test_many_random_programs_agree_with_the_cpu(genes: list[bytes]) -> None:
    quietly(lambda: check(genes, ALL))


# -- it can fail -----------------------------------------------------------------------------------


@functools.cache
def program(seed: int) -> Program:
    dice = random.Random(seed)
    genes = [dice.randbytes(fuzzed_writer.GENE) for _ in range(20)]
    return quietly(lambda: fuzzed_writer.write(genes))


def first_difference(programs: range, mode: str = "'lazy'") -> str:
    """Of these programs; empty if all give the CPU's result."""
    found = (quietly(lambda: program(seed).difference(mode)) for seed in programs)  # noqa: B023
    return next(filter(None, found), "")


def off_by_one(patch: pytest.MonkeyPatch) -> None:
    _change(patch, torch.ops.aten.abs.default, lambda result: result + 1)


def view_that_is_a_copy(patch: pytest.MonkeyPatch) -> None:
    _change(patch, torch.ops.aten.transpose.int, lambda result: result.clone())


def write_that_is_lost(patch: pytest.MonkeyPatch) -> None:
    rule, plan = dispatch._choose(torch.ops.aten.zero_.default)
    lost = lambda plan, args, kwargs: (rule(plan, (args[0].clone(),), {}), args[0])[1]  # noqa: E731
    patch.setitem(dispatch._rules, id(torch.ops.aten.zero_.default), (lost, plan))


def other_strides(patch: pytest.MonkeyPatch) -> None:
    turned = lambda result: result.as_strided(result.shape[::-1], result.stride()[::-1])  # noqa: E731
    _change(patch, torch.ops.aten.clone.default, turned)


def other_error(patch: pytest.MonkeyPatch) -> None:
    aten = torch.ops.aten
    for overload in (aten.view.default, aten.add.Tensor, aten.mul.Tensor, aten.cat.default):
        rule, plan = dispatch._choose(overload)
        patch.setitem(dispatch._rules, id(overload), (_with_other_errors(rule), plan))


def _with_other_errors(rule: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*call: Any) -> Any:
        try:
            return rule(*call)
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    return wrong


def streams_in_no_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stream, "wait_stream", lambda self, other: None)
    patch.setattr(Stream, "wait_event", lambda self, event: None)


def memory_of_two_streams_taken_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Allocation, "record", lambda self, stream: None)


def _change(patch: pytest.MonkeyPatch, overload: Any, change: Callable[[Any], Any]) -> None:
    rule, plan = dispatch._choose(overload)
    wrong = lambda *call: change(rule(*call))  # noqa: E731
    patch.setitem(dispatch._rules, id(overload), (wrong, plan))


FAULTS = (
    off_by_one,
    view_that_is_a_copy,
    write_that_is_lost,
    other_strides,
    other_error,
    streams_in_no_order,
    memory_of_two_streams_taken_early,
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_device_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert "the program:\n\nimport torch" in first_difference(range(40))


@pytest.mark.parametrize(
    "rules",
    [
        {"stage_pageable_uploads": False},
        {"pageable_downloads_block": False},
        {"host_allocator_tracks": False},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_a_platform_on_which_these_programs_race_is_found(rules: dict[str, bool]) -> None:
    with sim.platform(sim.Platform(**rules)):
        assert first_difference(range(40))


def test_a_program_is_a_script_that_runs_as_it_is() -> None:
    names: dict[str, Any] = {}
    quietly(lambda: exec(program(2).source("'random', seed=3"), names))
    assert names["seen"] == program(2).seen
    for name, expected in program(2).tensors.items():
        torch.testing.assert_close(names[name].cpu(), expected, equal_nan=True)


def test_programs_use_both_streams_late_copies_waits_and_errors() -> None:
    lines = [line.strip() for seed in range(40) for line in program(seed).lines]
    for part in (
        "with gpu.stream(side):",
        "keep(",
        "main.wait_stream(side)",
        "main.wait_event(side.record_event())",
        "non_blocking=True",
        "gpu.synchronize()",
        ".record_event()",
        "except Exception",
        "torch.bfloat16",
        "torch.complex64",
        "(0,), ",
        "del h",
        "del t",
    ):
        assert sum(part in line for line in lines) >= 2, part
