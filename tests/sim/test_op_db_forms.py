"""The operator database in other forms: in place, ``out=``, backward, and in other modes.

A sample of the operators here; all of them in `make soak`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pinlab import sim
from tests.sim import op_db_exceptions as exceptions
from tests.sim import op_db_harness as harness
from tests.sim.op_db_harness import name_of

sim.install()
MODES = ("threaded", "lazy", "random")
EVERY = 14  # of this many operators one, in the fast tests

# form, which operators have it, those that raise, those that the CPU refuses as well
FORMS = {
    "in_place": (
        harness.in_place,
        lambda op: op.inplace_variant is not None,
        set(exceptions.IN_PLACE),
        exceptions.NOT_IN_PLACE_ON_CPU,
    ),
    "out": (
        harness.out,
        lambda op: op.supports_out,
        set(exceptions.OUT),
        exceptions.NOT_OUT_ON_CPU,
    ),
    "backward": (
        harness.backward,
        harness.has_gradients,
        set(exceptions.BACKWARD),
        exceptions.NOT_ON_CPU,
    ),
}


def check(form: str, mode: str, wanted: Callable[[Any], bool] = lambda op: True) -> None:
    """Assert that exactly the exceptions do not match, among the operators that are `wanted`."""
    call, has_form, raising, refused = FORMS[form]
    verdicts = harness.run_all(call, lambda op: wanted(op) and has_form(op), mode)
    assert verdicts
    expected = {v.name for v in verdicts} & raising
    assert [str(v) for v in verdicts if v.kind == "wrong"] == []
    assert {v.name for v in verdicts if v.kind == "raises"} == expected
    assert {v.name for v in verdicts if v.kind == "not run"} <= refused


def some(start: int) -> Callable[[Any], bool]:
    """One of `EVERY` operators."""
    chosen = {name_of(op) for op in harness.entries()[start::EVERY]}
    return lambda op: name_of(op) in chosen


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_sample_of_operators_in_another_form(form: str) -> None:
    check(form, "lazy", some(3))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_sample_of_operators_in_another_mode(mode: str) -> None:
    verdicts = harness.run_all(harness.forward, some(MODES.index(mode)), mode)
    problems = [v for v in verdicts if v.kind not in ("matches", "not run")]
    assert {v.name for v in problems} <= set(exceptions.FORWARD), problems


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("form", FORMS)
def test_all_operators_in_another_form(form: str) -> None:
    check(form, "eager")


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", MODES)
def test_all_operators_in_another_mode(mode: str) -> None:
    verdicts = harness.run_all(harness.forward, lambda op: True, mode)
    assert {v.name for v in verdicts if v.kind == "raises"} == set(exceptions.FORWARD)
    assert [str(v) for v in verdicts if v.kind == "wrong"] == []


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_all_operators_into_outputs_that_grow() -> None:
    verdicts = harness.run_all(harness.out_resized, lambda op: op.supports_out, "lazy")
    wrong = [v for v in verdicts if v.kind == "wrong" and "the CPU refuses" not in v.why]
    assert [str(v) for v in wrong] == []
    assert {v.name for v in verdicts if v.kind == "raises"} <= set(exceptions.OUT)
