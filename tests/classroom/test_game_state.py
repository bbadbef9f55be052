"""The moves of the game: host, device, undo, reset, expand, and why a move is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.classroom import LEVELS, Goal, SchedulerGame
from pinlab.classroom.game_look import Look
from pinlab.classroom.game_state import GameState
from pinlab.schedules import replay


def upload() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


def two_uploads() -> list[list[int]]:
    row = torch.arange(4, pin_memory=True)
    first = row.to("sim", non_blocking=True)
    row.add_(10)
    second = row.to("sim", non_blocking=True)
    row.add_(10)
    return [first.tolist(), second.tolist()]


def with_event() -> list[int]:
    gpu = torch.get_device_module("sim")
    side = gpu.Stream()
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    side.wait_stream(gpu.current_stream())
    with gpu.stream(side):
        doubled = lens * 2
    gpu.synchronize()
    return doubled.tolist()


def held() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    with sim.hold():
        lens = row.to("sim", non_blocking=True)
        row[1] = 40
    return lens.tolist()


def held_and_waited_for() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    with sim.hold():
        return row.to("sim", non_blocking=True).tolist()


def raises() -> int:
    row = torch.tensor([5, 7], pin_memory=True)
    row.to("sim", non_blocking=True)
    raise ValueError("row 3")


def returns_a_pending_buffer() -> torch.Tensor:
    scores = torch.tensor([0.5]).to("sim")
    out = torch.zeros(1, pin_memory=True)
    out.copy_(scores, non_blocking=True)
    return out


def game(program, goal: Goal | None = None, **options) -> SchedulerGame:
    return SchedulerGame(program, goal or Goal.wrong(expect=[5, 7]), **options)


def seen(state: GameState) -> tuple[Look, str, int]:
    return state.look, state.token, state.played.pieces


def values(state: GameState) -> dict[str, tuple[str, ...]]:
    return {row.name: row.values for row in state.look.memory}


def test_host_steps_run_one_line_each_until_the_program_is_over() -> None:
    states = game(upload).play("hhhh").states
    assert [state.look.listings[0].next for state in states] == [2, 3, 4, 5, None]
    assert [state.look.over for state in states] == [False] * 4 + [True]
    assert states[-1].look.outcome == [5, 40]


def test_a_device_step_runs_the_next_operation_of_its_stream() -> None:
    before, after = game(upload).play("hhd").states[-2:]
    assert [entry.label for entry in before.look.queues[0]] == ["upload row → lens"]
    assert after.look.queues == ((),)
    assert after.message == "stream 0 ran upload row → lens"
    assert after.token == "h2.d1"


def test_a_zero_is_the_default_stream_too() -> None:
    assert seen(game(upload).play("hh0").state)[1:] == seen(game(upload).play("hhd").state)[1:]


def test_looking_twice_at_one_prefix_sees_the_same() -> None:
    twice = [game(with_event).play("hhhhhhh").state.look for _ in range(2)]
    assert twice[0] == twice[1]


def test_undo_goes_back_over_each_kind_of_move() -> None:
    states = game(two_uploads).play("hhhhxdhdr").states
    for back, state in enumerate(reversed(states[:-1]), 1):
        assert seen(game(two_uploads).play("hhhhxdhdr" + "u" * back).state) == seen(state)


def test_undo_at_the_start_says_so() -> None:
    played = game(upload).play("uhu")
    assert played.states[1].message == "nothing to undo: this is the start"
    assert seen(played.state) == seen(played.states[0])


def test_undo_passes_over_what_was_refused() -> None:
    played = game(upload).play("hhdddu")
    assert played.state.token == "h"
    assert played.state.look.waiting == 1


def test_reset_starts_again_with_whole_copies() -> None:
    played = game(two_uploads).play("hhxdhr")
    assert seen(played.state) == seen(played.states[0])
    assert played.pieces == 1


def test_a_copy_is_expanded_into_steps_of_its_own() -> None:
    played = game(two_uploads, pieces=4).play("hhxddd")
    parts = [state.look.queues[0][0] for state in played.states[3:]]
    assert [(part.done, part.pieces) for part in parts] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert values(played.state)["first"] == ("0", "1", "2", "·")


def test_expanding_later_keeps_what_has_happened_and_refuses_a_second_time() -> None:
    whole = game(two_uploads).play("hhdhh")
    torn = game(two_uploads).play("hhdhhx")
    assert (whole.token, torn.token) == ("h2.d1", "h2.d2")
    assert values(torn.state) == values(whole.state)
    assert torn.state.look.position == whole.state.look.position
    again = torn.state.press("x")
    assert again.message == "copies run in 2 parts already; u goes back"


def test_a_stream_without_work_says_so_and_where_there_is_some() -> None:
    start = game(with_event).start
    assert start.press("d").message == "nothing is queued on stream 0"
    assert start.press("7").message == "no stream 7 so far; there is 0"
    assert start.press("d").look == start.look
    later = game(with_event).play("hhhhhhhhd").state
    assert later.press("d").message == "nothing is queued on stream 0; there is work on stream 1"


def test_work_behind_an_event_says_for_whom_it_waits() -> None:
    state = game(with_event).play("hhhhhhhh1").state
    assert state.message.startswith("mul lens → doubled cannot run: ")
    assert state.message.endswith("waits for stream 0")
    assert state.press("d").press("1").message == "stream 1 ran mul lens → doubled"


def test_work_behind_a_hold_names_its_line() -> None:
    state = game(held).play("hhhd").state
    assert state.message.startswith("upload row → lens cannot run: ")
    assert "is held at test_game_state.py:" in state.message
    assert state.token == "h"


def test_a_host_that_waits_for_its_own_hold_ends_as_an_outcome() -> None:
    state = game(held_and_waited_for).replay("h").state
    assert "Blocked(by the hold at test_game_state.py:" in repr(state.look.outcome)


def test_an_exception_of_the_program_is_its_outcome() -> None:
    state = game(raises).play("hhh").state
    assert repr(state.look.outcome) == "Raised(ValueError, 'row 3')"
    assert state.reached


def test_a_wait_of_the_host_tells_what_the_device_did() -> None:
    state = game(upload).play("hhhh").state
    assert "the host waited for the device: upload row → lens, download" in state.message


def test_work_left_at_the_return_can_still_run_before_the_value_is_read() -> None:
    early = game(returns_a_pending_buffer).play("hhhhd")
    assert early.states[-2].look.returned
    assert early.state.press("h").look.outcome == torch.tensor([0.5])
    assert early.states[-2].press("h").look.outcome == torch.tensor([0.0])


def test_moves_after_the_end_are_refused_with_the_way_back() -> None:
    over = game(upload).play("hhhh").state
    for key in "hox":
        assert over.press(key).message == "the program is over: u goes back a step, r to the start"
    assert over.press("d").message == "the program is over, and so is the device's work"
    assert over.press("u").look.position == (3, 0)


def test_an_unknown_key_is_refused_with_the_list_of_keys() -> None:
    state = game(upload).start.press("q")
    assert state.message == "key 'q' means nothing here; keys: h o d 1-9 x u r c n ?"


def outer() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = sent(row)
    row[1] = 40
    return lens.tolist()


def sent(row: torch.Tensor) -> torch.Tensor:
    here = row.to("sim", non_blocking=True)
    row[0] = 6
    return here


def test_a_call_is_entered_line_by_line_or_stepped_over() -> None:
    inside = game(outer).play("hhh").state
    assert [listing.function for listing in inside.look.listings] == ["outer", "sent"]
    assert inside.look.listings[1].next == 3
    assert inside.message == "line 2 of sent ran"
    assert game(outer).play("hh").state.message == "line 3 called sent"
    over = game(outer).play("ho")
    assert over.state.look.listings[-1].next == 4
    assert over.state.message == "line 3 ran, with 3 lines in its calls"
    back = game(outer).play("hhho")
    assert back.state.look == over.state.look.since(back.states[-2].look)


def test_stepping_over_the_last_line_ends_the_program() -> None:
    assert game(outer).play("oooo").outcome == [6, 40]
    assert game(outer).play("oooo").state.press("o").look.over


def test_the_goal_is_kept_once_reached_whatever_comes_after() -> None:
    played = game(upload, repaired=with_event).play("hhhhur")
    assert [state.won for state in played.states] == [False] * 4 + [True] * 3
    assert not played.reached


def test_the_repaired_program_comes_after_the_goal_and_n_goes_back() -> None:
    both = game(upload, repaired=lambda: [5, 7])
    refused = both.play("n").state
    assert refused.message == "first reach the goal; then n shows the repaired program"
    assert not refused.repaired
    assert both.play("hhhhn").state.repaired
    assert not both.play("hhhhnn").state.repaired
    assert game(upload).play("hhhhn").state.message == "there is no repaired program here"


def test_a_certificate_is_given_for_what_no_schedule_breaks() -> None:
    claim = game(with_event, Goal.certified(expect=[10, 14]))
    assert claim.play("c").reached
    assert "correct in every schedule" in repr(claim.play("c"))
    assert not claim.play("ch").reached  # it was asked for at that position


def test_no_certificate_and_no_answer_for_what_some_schedule_breaks() -> None:
    state = game(upload, Goal.certified(expect=[5, 7])).play("c").state
    assert state.message == "no certificate: 2 schedules run, outcomes: 2 different ones"
    assert not state.reached
    assert state.report is None


def test_after_the_goal_the_report_tells_all() -> None:
    state = game(upload).play("hhhhc").state
    assert state.report is not None
    assert not state.report.correct
    assert state.verdict.startswith("reached")  # it was asked for at the end of a run that won
    assert state.press("r").press("c").verdict == "not certified"


def test_a_program_that_differs_from_itself_gets_a_message_and_no_certificate() -> None:
    count = iter(range(100))
    state = game(lambda: next(count)).play("c").state
    assert state.message.startswith("no certificate: two runs under one schedule differ")


def test_a_state_says_where_it_stands() -> None:
    assert repr(game(upload).play("hhd").state) == "<game at (2, 0), token h2.d1, goal not yet>"


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
@settings(max_examples=6)
@given(keys=st.text(alphabet="hhhd1dux", min_size=1, max_size=14))
def test_whatever_is_pressed_the_token_replays_to_the_same_value(level, keys: str) -> None:
    played = SchedulerGame.level(level.id).play(keys)
    state = played.state
    while not state.look.over:
        state = state.press("h")
    value = replay(level.program, state.token, pieces=state.played.pieces)
    assert state.look.outcome == value


@settings(max_examples=15)
@given(keys=st.text(alphabet="hhd1xro", min_size=1, max_size=8))
def test_as_many_undos_as_moves_lead_back_to_the_start(keys: str) -> None:
    played = game(with_event).play(keys)
    state = played.state
    while state.before is not None:
        state = state.press("u")
    assert seen(state) == seen(played.states[0])
