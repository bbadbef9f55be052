"""Every claim of the registry over all schedules of small programs, by the explorer."""

from __future__ import annotations

import pytest

from pinlab import sim
from pinlab.schedules import explore, replay
from pinlab.serving.scenarios import SCENARIOS, three_steps
from pinlab.serving.variants import VARIANTS

RIGHT = [name for name, variant in VARIANTS.items() if variant.device_reader]
WRONG = [name for name, variant in VARIANTS.items() if not variant.device_reader]
THREE_STEPS = [10.0, 20.0, 40.0, 20.0, 10.0, 40.0]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_variant_is_correct_in_every_schedule(name: str, scenario: str) -> None:
    program = SCENARIOS[scenario].program(VARIANTS[name].batch)
    report = explore(program, expect=SCENARIOS[scenario].expect)
    assert report.correct, str(report)


@pytest.mark.parametrize("scenario", ["condense and add", "swap", "two steps"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_has_a_schedule_that_replays_a_wrong_value(
    name: str, scenario: str
) -> None:
    program = SCENARIOS[scenario].program(VARIANTS[name].batch)
    report = explore(program, expect=SCENARIOS[scenario].expect)
    assert report.complete
    assert report.counterexample is not None
    found = replay(program, str(report.counterexample))
    assert found in list(report.outcomes)
    assert found != SCENARIOS[scenario].expect


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_token_h_tells_right_from_wrong(name: str, scenario: str) -> None:
    """`h`: the host runs on, and device work waits until somebody asks for its result."""
    found = replay(SCENARIOS[scenario].program(VARIANTS[name].batch), "h")
    assert (found == SCENARIOS[scenario].expect) == VARIANTS[name].device_reader


@pytest.mark.parametrize("name", WRONG)
def test_even_a_wrong_variant_is_right_in_some_schedule(name: str) -> None:
    scenario = SCENARIOS["condense and add"]
    report = explore(scenario.program(VARIANTS[name].batch), expect=scenario.expect)
    assert scenario.expect in list(report.outcomes)


def test_the_wrong_values_come_from_lengths_of_the_next_step() -> None:
    scenario = SCENARIOS["condense and add"]  # lengths 2, 4, 8 become 2, 8, 1
    report = explore(scenario.program(VARIANTS["aliasing"].batch), expect=scenario.expect)
    assert sorted(outcome.value for outcome in report.outcomes) == [
        [10.0, 10.0, 40.0],  # c has moved into b's row: 80 / 8
        [10.0, 10.0, 320.0],  # and d into c's: 320 / 1
        [10.0, 20.0, 40.0],
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_only_the_double_buffer_has_a_window_that_three_steps_leave(name: str) -> None:
    report = explore(three_steps(VARIANTS[name].batch), expect=THREE_STEPS)
    assert report.complete
    assert report.correct == (name != "double buffer")


@pytest.mark.parametrize("name", RIGHT)
def test_not_pinning_is_right_only_where_pageable_uploads_are_staged(name: str) -> None:
    scenario = SCENARIOS["condense and add"]
    with sim.platform(sim.Platform(stage_pageable_uploads=False)):
        report = explore(scenario.program(VARIANTS[name].batch), expect=scenario.expect)
    assert report.complete
    assert report.correct == (name != "not pinned")


@pytest.mark.parametrize("name", ["clone", "event wait"])
def test_a_torn_copy_does_not_hurt_a_right_variant(name: str) -> None:
    scenario = SCENARIOS["replace all"]
    report = explore(scenario.program(VARIANTS[name].batch), expect=scenario.expect, pieces=3)
    assert report.correct, str(report)


def test_a_torn_copy_mixes_the_lengths_of_two_steps() -> None:
    scenario = SCENARIOS["swap"]
    program = scenario.program(VARIANTS["aliasing"].batch)
    whole = explore(program, expect=scenario.expect)
    torn = explore(program, expect=scenario.expect, pieces=3)
    assert len(torn.outcomes) > len(whole.outcomes)
