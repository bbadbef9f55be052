"""Lesson 09's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab.casebook import case
from pinlab.classroom.checks.lesson_09 import AT_HOME, CHECKS, IN_CLASS
from pinlab.classroom.deck import DECK, ROUNDS
from pinlab.classroom.questions.lesson_09 import QUESTIONS

check_late, check_edge, check_home = CHECKS
Repair = Callable[[torch.device], Any]


def steps(device: torch.device, body: Callable[..., Any]) -> tuple[Any, Any]:
    """Card 5 with `body(gpu, temperature, tokens, uploaded, step)` as a step."""
    gpu = torch.get_device_module(device)
    temperature = torch.tensor([0], pin_memory=True)
    tokens = torch.tensor([0], pin_memory=True)
    uploaded = gpu.Event()
    results = [body(gpu, temperature, tokens, uploaded, step) for step in (1, 2)]
    gpu.synchronize()
    return [result.item() for result in results], [101, 202]


# --- 09.1 ---------------------------------------------------------------------------------------


def snapshot(device: torch.device) -> Any:
    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        temperature[0] = step
        there = temperature.clone().pin_memory().to(device, non_blocking=True)
        tokens[0] = step
        return there * 100 + tokens.clone().pin_memory().to(device, non_blocking=True)

    return steps(device, step)


def asks_until_yes(device: torch.device) -> Any:
    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        while not uploaded.query():
            pass
        temperature[0] = step
        there = temperature.to(device, non_blocking=True)
        tokens[0] = step
        arrived = tokens.to(device, non_blocking=True)
        uploaded.record()
        return there * 100 + arrived

    return steps(device, step)


def everything(device: torch.device) -> Any:
    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        gpu.synchronize()
        temperature[0] = step
        there = temperature.to(device, non_blocking=True)
        tokens[0] = step
        result = there * 100 + tokens.to(device, non_blocking=True)
        gpu.synchronize()
        return result

    return steps(device, step)


@pytest.mark.parametrize(
    ("repair", "said"),
    [
        (case("Z12").fixed, "only earlier"),
        (snapshot, "never waits between the steps"),
        (everything, "more often"),
        (asks_until_yes, "only earlier"),
    ],
)
def test_a_guard_before_the_first_refill_is_right(repair: Repair, said: str) -> None:
    verdict = check_late.judge(repair)
    assert (verdict.state, said in verdict.text) == ("right", True), verdict.text


def too_late_still(device: torch.device) -> Any:
    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        temperature[0] = step
        there = temperature.to(device, non_blocking=True)
        tokens[0] = step
        uploaded.synchronize()
        arrived = tokens.to(device, non_blocking=True)
        uploaded.record()
        return there * 100 + arrived

    return steps(device, step)


def clones_what_arrived(device: torch.device) -> Any:
    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        temperature[0] = step
        there = temperature.to(device, non_blocking=True).clone()
        tokens[0] = step
        return there * 100 + tokens.to(device, non_blocking=True).clone()

    return steps(device, step)


def keeps_references(device: torch.device) -> Any:
    kept = []

    def step(gpu: Any, temperature: Any, tokens: Any, uploaded: Any, step: int) -> Any:
        temperature[0] = step
        there = temperature.to(device, non_blocking=True)
        tokens[0] = step
        kept.append((temperature, tokens))
        return there * 100 + tokens.to(device, non_blocking=True)

    return steps(device, step)


def one_step_only(device: torch.device) -> Any:
    return [101, 202], [101, 202]


def another_goal(device: torch.device) -> Any:
    observed, _ = too_late_still(device)
    return observed, [201, 202]


@pytest.mark.parametrize(
    ("repair", "belief", "said"),
    [
        (too_late_still, "M11", "refilled before it"),
        (case("Z12").broken, "M11", "refilled before it"),
        (clones_what_arrived, "M10", "the source that is overwritten"),
        (keeps_references, "M7", "not what is in it"),
        (one_step_only, None, "4 uploads, yours 0"),
        (another_goal, None, "leave it at [101, 202]"),
        (lambda device: 7, None, "Return two values"),
        (lambda device: ([1, 2], [101, 202]), None, "Even if the device"),
        (lambda device: device.gpu, None, "AttributeError"),
        (7, None, "takes the function itself"),
    ],
)
def test_a_guard_that_guards_nothing_is_told_why(
    repair: Any, belief: str | None, said: str
) -> None:
    verdict = check_late.judge(repair)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text, verdict.text


def test_an_error_in_the_repair_is_shown_with_its_line() -> None:
    def careless(device: torch.device) -> Any:
        return torch.get_device_module(device).Event().wait_for(), 1

    text = check_late.judge(careless).text
    assert "AttributeError" in text
    assert "in the line: return torch.get_device_module(device).Event().wait_for(), 1" in text


def test_the_named_schedule_shows_the_wrong_value_again() -> None:
    see = check_late.judge(too_late_still).see
    assert see.endswith(", too_late_still)")
    assert case("Z12").replay(see.split('"')[3], too_late_still) == [202, 202]


def test_a_line_of_dots_is_a_stub() -> None:
    def guarded(device: torch.device) -> Any:
        ...  # noqa: PIE790  # a learner's stub
        return too_late_still(device)

    verdict = check_late.judge(guarded)
    assert verdict.state == "open"
    assert "[202, 202] instead of [101, 202]" in verdict.text


# --- 09.2 ---------------------------------------------------------------------------------------


def stored(device: torch.device, between: Callable[..., Any], before: Any = None) -> Any:
    """Card 9 with a line between the fill and the copy, or before both."""
    gpu = torch.get_device_module(device)
    block = torch.zeros(1, dtype=torch.int64, device=device)
    host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    store = gpu.Stream()
    store.wait_stream(gpu.current_stream())
    early = gpu.current_stream().record_event()
    block.fill_(8)
    between(gpu, store, block, early)
    with gpu.stream(store):
        host.copy_(block, non_blocking=True)
    gpu.synchronize()
    return host.item(), 8


def waits_for_stream(device: torch.device) -> Any:
    return stored(device, lambda gpu, store, *_: store.wait_stream(gpu.current_stream()))


def host_waits(device: torch.device) -> Any:
    return stored(device, lambda gpu, *_: gpu.synchronize())


def on_the_main_stream(device: torch.device) -> Any:
    gpu = torch.get_device_module(device)
    block = torch.zeros(1, dtype=torch.int64, device=device)
    host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    block.fill_(8)
    host.copy_(block, non_blocking=True)
    gpu.synchronize()
    return host.item(), 8


@pytest.mark.parametrize(
    ("repair", "said"),
    [
        (case("Z57").fixed, "only the store does"),
        (waits_for_stream, "only the store does"),
        (host_waits, "the host stands still"),
        (on_the_main_stream, "no longer beside"),
    ],
)
def test_an_edge_behind_the_fill_is_right(repair: Repair, said: str) -> None:
    verdict = check_edge.judge(repair)
    assert (verdict.state, said in verdict.text) == ("right", True), verdict.text


def wrong_way(device: torch.device) -> Any:
    return stored(device, lambda gpu, store, *_: gpu.current_stream().wait_stream(store))


def too_early(device: torch.device) -> Any:
    return stored(device, lambda gpu, store, block, early: store.wait_event(early))


def recorded(device: torch.device) -> Any:
    return stored(device, lambda gpu, store, block, early: block.record_stream(store))


def waits_for_the_store(device: torch.device) -> Any:
    return stored(device, lambda gpu, store, block, early: early.synchronize())


@pytest.mark.parametrize(
    ("repair", "belief", "said"),
    [
        (wrong_way, None, "it is the store that must wait"),
        (too_early, "M11", "does not cover the fill"),
        (recorded, "M12", "keeps its memory only"),
        (waits_for_the_store, "M11", "but not for the fill"),
    ],
)
def test_an_edge_elsewhere_is_told_why(repair: Repair, belief: str | None, said: str) -> None:
    verdict = check_edge.judge(repair)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text, verdict.text
    assert "0 instead of 8" in verdict.text


# --- 09.3 ---------------------------------------------------------------------------------------


def test_the_maintainers_repairs_of_all_ten_are_right() -> None:
    verdict = check_home.judge({id: case(id).fixed for id in AT_HOME})
    assert verdict.state == "right", verdict.text
    assert verdict.text.startswith("10 of 10 repaired.")


@pytest.mark.parametrize(
    ("repairs", "belief", "said"),
    [
        ({"Z31": case("Z31").broken}, "M3", "Z31: Not in every schedule. [0, 0] instead of"),
        ({"Z21": case("Z21").fixed, "Z71": case("Z71").broken}, "M2", "Z21: Every schedule gives"),
        ({"Z63": case("Z63").broken}, "M13", "0 instead of 6"),
        ({"Z12": case("Z12").fixed}, None, "'Z12' is none of Z02"),
        (case("Z31").fixed, None, "takes a dict"),
    ],
)
def test_a_repair_at_home_that_is_none_is_told(repairs: Any, belief: str | None, said: str) -> None:
    verdict = check_home.judge(repairs)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text, verdict.text


def knows_the_number(device: Any) -> tuple[int, int]:
    observed, expected = case("Z63").fixed(device)
    print(observed)
    return 6, expected


def knows_both(device: Any) -> tuple[list[int], list[int]]:
    return [2, 1], [2, 1]


@pytest.mark.parametrize("repairs", [{"Z63": knows_the_number}, {"Z02": knows_both}])
def test_a_number_that_was_written_down_is_no_observation(repairs: Any) -> None:
    assert "written down, not observed" in check_home.judge(repairs).text


def test_nothing_repaired_yet_is_open() -> None:
    assert check_home.judge({"Z31": ...}).state == "open"
    assert check_home.judge({}).state == "open"


# --- the deck -----------------------------------------------------------------------------------


def test_the_deck_has_twelve_bugs_and_four_controls_in_three_rounds() -> None:
    controls = [card for card in DECK.values() if card.case.control]
    assert (len(DECK), len(controls)) == (16, 4)
    assert [card.number for cards in ROUNDS for card in cards] == list(DECK)
    assert set(AT_HOME) | set(IN_CLASS) == {
        card.case.id for card in DECK.values() if not card.case.control
    }


def test_every_card_has_a_part_of_its_own_in_the_questions() -> None:
    asked = [part for question in QUESTIONS[:3] for part in question.parts]
    assert asked == [card.name for card in DECK.values()]
    for cards, question in zip(ROUNDS, QUESTIONS, strict=False):
        assert question.parts == tuple(card.name for card in cards)


@pytest.mark.parametrize("card", DECK.values(), ids=lambda card: card.name)
def test_a_card_face_up_does_not_give_its_answer_away(card: Any) -> None:
    face = str(card)
    assert card.case.id not in face
    assert card.case.mechanism not in face
    assert "looks like" not in face
    assert all(line.strip() in face for line in card.case.source().splitlines()[1:])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_unfilled_stub_is_not_answered(check: Any) -> None:
    assert check.judge(...).state == "open"
