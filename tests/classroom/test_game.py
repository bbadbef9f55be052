"""The game as a whole: playing by keys, replaying tokens, text, arguments, display."""

from __future__ import annotations

import functools
import sys
import types

import pytest
import torch

from pinlab import sim
from pinlab.classroom import Goal, SchedulerGame
from pinlab.classroom.game import WIDGET_VIEW
from pinlab.classroom.game_widget import GameWidget
from pinlab.schedules import ScheduleError, explore, replay


def program() -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return lens.tolist()


def doubled(factor: int = 2) -> list[int]:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    row[1] = 40
    return (lens * factor).tolist()


@pytest.fixture
def game() -> SchedulerGame:
    return SchedulerGame(program, Goal.wrong(expect=[5, 7]), title="A title", before="Some text.")


def test_a_played_game_is_read_as_text(game: SchedulerGame) -> None:
    assert repr(game.play("hhd")).splitlines() == [
        "A title",
        "Some text.",
        "",
        "     1 | def program() -> list[int]:",
        "     2 |     row = torch.tensor([5, 7], pin_memory=True)",
        '     3 |     lens = row.to("sim", non_blocking=True)',
        " ▸   4 |     row[1] = 40",
        "     5 |     return lens.tolist()",
        "",
        "stream 0  nothing queued",
        "memory    row    pinned, bytes [0:16]   5 7",
        "          lens   device, bytes [0:16]   5* 7*",
        "          · nothing written yet   * changed by the last step",
        "",
        "last step stream 0 ran upload row → lens",
        "token     h2.d1",
        "goal      make it wrong: anything but [5, 7]",
        "          not yet",
        "",
        "moves",
        "  1 h  line 2 ran",
        "  2 h  line 3 ran",
        "  3 d  stream 0 ran upload row → lens",
    ]


def test_the_text_marks_the_next_operation_and_names_the_line_that_queued_it(game) -> None:
    assert "stream 0  ▸ upload row → lens, queued by line 3" in repr(game.play("hh"))


def test_the_text_of_a_game_that_is_over_says_what_came_out(game: SchedulerGame) -> None:
    text = repr(game.play("hhhh"))
    assert "value     [5, 40]" in text
    assert "          reached" in text


def test_a_torn_copy_says_so_beside_the_token(game: SchedulerGame) -> None:
    played = game.play("xhhd")
    assert "token     h2.d1   with pieces=2" in repr(played)
    assert "upload row → lens, part 2 of 2" in repr(played)
    assert played.pieces == 2


def test_playing_leaves_the_game_as_it_was(game: SchedulerGame) -> None:
    before = repr(game)
    game.play("hhdhh")
    assert repr(game) == before == repr(game.play())


def test_blanks_and_capitals_in_the_keys_do_not_matter(game: SchedulerGame) -> None:
    assert game.play(" HH d\nhh").token == game.play("hhdhh").token


def test_an_unknown_key_is_named(game: SchedulerGame) -> None:
    with pytest.raises(ValueError, match=r"key '²' in 'hh²'; keys are h o d 1-9 x"):
        game.play("hh²")


@pytest.mark.parametrize("schedule", ["h", "h2.d1", "h3.d1", "h2.s0d1"])
def test_a_token_is_played_to_the_end(game: SchedulerGame, schedule: str) -> None:
    played = game.replay(schedule)
    assert played.outcome == replay(program, schedule)
    assert game.play(played.keys).outcome == played.outcome


def test_every_schedule_of_the_explorer_can_be_played(game: SchedulerGame) -> None:
    report = explore(program, pieces=2)
    for outcome, ways in report.outcomes.items():
        for way in ways:
            assert game.replay(str(way), pieces=2).outcome == outcome.value


@pytest.mark.parametrize("bad", ["h1.d1", "h2.d2", "h2.s1d1", "h2.q1.d1", "h9.d1"])
def test_a_token_that_does_not_fit_is_an_error(game: SchedulerGame, bad: str) -> None:
    with pytest.raises(ScheduleError, match=f"token {bad}: "):
        game.replay(bad)


def test_a_token_in_other_pieces_is_refused(game: SchedulerGame) -> None:
    with pytest.raises(ValueError, match="pieces=3; this game has 1 or 2"):
        game.replay("h2.d1", pieces=3)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"goal='wrong'; make one, e.g. Goal.wrong"):
        SchedulerGame(program, "wrong")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pieces=1; key x needs 2 or more"):
        SchedulerGame(program, Goal.wrong(1), pieces=1)
    with pytest.raises(TypeError, match="program must be a function without arguments, got 3"):
        SchedulerGame(3, Goal.wrong(1)).start  # type: ignore[arg-type]  # noqa: B018
    with pytest.raises(LookupError, match="no level 99; there are 1 which-value"):
        SchedulerGame.level(99)


@pytest.mark.parametrize(
    ("goal", "reached"),
    [
        (Goal.wrong([5, 7]), {"hhhh"}),
        (Goal.right([5, 7]), {"hhdhh"}),
        (Goal.value([5, 40], expect=[5, 7]), {"hhhh"}),
        (Goal.value([0, 0], expect=[5, 7]), set()),
        (Goal.certified([5, 7]), set()),
    ],
)
def test_each_kind_of_goal_is_reached_by_what_it_asks_for(goal: Goal, reached: set[str]) -> None:
    game = SchedulerGame(program, goal)
    assert {keys for keys in ("hhhh", "hhdhh", "c", "hh") if game.play(keys).reached} == reached


def test_goals_tell_values_of_different_types_apart() -> None:
    as_floats = SchedulerGame(program, Goal.right([5.0, 7.0]))
    assert not as_floats.play("hhdhh").reached


class Callable:
    def __call__(self) -> list[int]:
        return program()


@pytest.mark.parametrize("given", [functools.partial(doubled, factor=3), Callable()])
def test_a_partial_or_a_callable_object_is_played_too(given: object) -> None:
    played = SchedulerGame(given, Goal.right([])).play("hhhhhhhh")  # type: ignore[arg-type]
    assert played.state.look.over


def test_a_program_without_source_is_played_without_a_listing() -> None:
    namespace: dict[str, types.FunctionType] = {}
    exec("def made():\n    a = 1\n    return a\n", namespace)
    played = SchedulerGame(namespace["made"], Goal.right(expect=1)).play("h")
    assert "made: its source cannot be read" in repr(played)
    assert played.state.press("h").reached


def test_a_long_function_is_shown_around_the_next_line() -> None:
    lines = "\n".join(f"    a{n} = {n}" for n in range(60))
    source = f"def long():\n{lines}\n    return 1\n"
    name = "<long program>"
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, types.FunctionType] = {}
    exec(compile(source, name, "exec"), namespace)
    text = repr(SchedulerGame(namespace["long"], Goal.right(1)).play("h" * 30))
    assert " ▸  32 |     a30 = 30" in text
    assert "a24 =" in text
    assert "a23 =" not in text
    assert "a37 =" not in text


def test_the_game_does_not_change_the_device_it_is_played_on(game: SchedulerGame) -> None:
    kept = torch.tensor([1, 2], pin_memory=True)
    there = torch.tensor([3, 4]).to("sim")
    game.play("hhxdhhc")
    assert kept.tolist() == [1, 2]
    assert there.tolist() == [3, 4]
    assert sim.pending() == []


def test_outside_a_notebook_it_prints_itself(game: SchedulerGame, capsys) -> None:
    game._ipython_display_()
    assert capsys.readouterr().out == repr(game) + "\n"


def test_on_a_real_gpu_it_says_what_it_needs(game, capsys, monkeypatch) -> None:
    monkeypatch.setenv("PINLAB_DEVICE", "cuda")
    game._ipython_display_()
    assert "need the simulated device" in capsys.readouterr().out
    with pytest.raises(sim.SimError, match="need the simulated device"):
        game.play("h")


def test_in_a_notebook_it_shows_the_widget_and_keeps_its_text(game, capsys, monkeypatch) -> None:
    shown = []
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    screen = types.SimpleNamespace(display=lambda data, raw: shown.append((data, raw)))
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    game._ipython_display_()
    ((data, raw),) = shown
    assert raw
    assert set(data) == {WIDGET_VIEW, "text/plain"}
    assert data["text/plain"] == repr(game)
    assert isinstance(game.widget, GameWidget)
    assert capsys.readouterr().out == (
        'A title (without buttons: game.play("hhd") plays it as text)\n'
    )


def test_the_certificate_is_about_the_players_lines_not_about_the_games_own() -> None:
    certified = SchedulerGame(program, Goal.wrong([5, 7]), repaired=lambda: [5, 7]).play("hhhhnc")
    assert certified.reached
    assert "test_game.py" in repr(certified)
    assert "game_program.py" not in repr(certified)
