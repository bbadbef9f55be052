"""The notebook's face of the game, without a browser: its field, its buttons, what they show."""

from __future__ import annotations

import re
from html import escape

import pytest

from pinlab.classroom import Goal, SchedulerGame
from pinlab.classroom.game_text import screen
from pinlab.classroom.game_widget import GameWidget


def widget(level: int | str = 1) -> GameWidget:
    return GameWidget(SchedulerGame.level(level))


def shown(face: GameWidget) -> str:
    """Everything on the page, tags left out."""
    html = "\n".join(part.value for part in face.parts.values())
    return re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)


def test_typing_plays_and_deleting_goes_back() -> None:
    face = widget()
    face.keys.value = "hh"
    two = face.state
    face.keys.value = "hhd"
    assert face.state.token == "h2.d1"
    face.keys.value = "hh"
    assert face.state is two
    face.keys.value = ""
    assert face.state.look.position == (0, 0)


def test_typing_in_the_middle_plays_on_from_what_is_the_same() -> None:
    face = widget()
    face.keys.value = "hhhh"
    face.keys.value = "hhdhh"
    assert face.state.token == "h2.d1"
    assert face.state.look.outcome == [5, 7]


def test_a_button_types_its_key() -> None:
    face = widget("two-streams")
    for _ in range(7):
        face.buttons["h"].click()
    face.streams.children[1].click()
    assert face.keys.value == "hhhhhhh1"
    assert face.state.message == "stream 1 ran mul lens → doubled"


def test_each_button_names_its_key_and_says_what_it_does() -> None:
    face = widget()
    face.keys.value = "h"
    for key, button in [*face.buttons.items(), ("d", face.streams.children[0])]:
        assert f"({key})" in button.description
        assert button.tooltip


def test_no_button_and_no_field_is_made_anew_disabled_or_hidden_by_a_step() -> None:
    face = widget("two-streams")
    kept = [face.keys, *face.buttons.values(), *face.streams.children]
    face.keys.value = "hhhhhhhh1hhnhcur"
    assert [face.keys, *face.buttons.values(), face.streams.children[0]] == kept
    assert not any(one.disabled or one.layout.display == "none" for one in kept)


def test_a_stream_gets_a_button_when_it_appears_and_keeps_it() -> None:
    face = widget("two-streams")
    assert len(face.streams.children) == 1
    face.keys.value = "hhhhhhh"
    assert [button.description for button in face.streams.children] == [
        "device, stream 0 (d)",
        "device, stream 1 (1)",
    ]
    second = face.streams.children[1]
    face.keys.value = ""
    assert face.streams.children[1] is second


@pytest.mark.parametrize("keys", ["", "hh", "hhd", "xhhd", "hhdhh", "hhdhhnc", "hhhhd", "hhddd"])
def test_the_page_says_what_the_text_says(keys: str) -> None:
    face = widget()
    face.keys.value = keys
    page = re.sub(r"[\s|]+", " ", re.sub(r'value="([^"]*)"', r">\1<", html_of(face)))
    for line in screen(face.state).splitlines():
        for word in re.split(r"[\s|]+|token|goal|last step|memory", line):
            assert escape(word) in page, (word, line)


def html_of(face: GameWidget) -> str:
    return "\n".join(part.value for part in face.parts.values())


def test_the_next_line_and_the_next_operation_are_marked_by_more_than_colour() -> None:
    face = widget()
    face.keys.value = "hh"
    assert re.search(r'class="row next" aria-current="step">▸   4 \|', face.parts["source"].value)
    assert "▸ upload row → lens" in shown(face)


def test_what_happened_is_announced_and_the_token_has_a_label() -> None:
    face = widget()
    face.keys.value = "hhd"
    assert 'role="alert"' in face.parts["said"].value
    assert 'readonly aria-label="replay token" value="h2.d1"' in face.parts["token"].value


def test_colours_come_from_the_theme() -> None:
    style = widget().parts["head"].value.split("</style>")[0]
    for colour in re.findall(r"(?:color|background|border[\w-]*):([^;]+);", style):
        assert "#" not in re.sub(r"var\([^)]*\)", "", colour)


def test_source_and_values_cannot_smuggle_in_tags() -> None:
    def program() -> str:
        return "<script>alert(1)</script>"

    face = GameWidget(SchedulerGame(program, Goal.right("<b>"), title="<i>"))
    face.keys.value = "h"
    html = html_of(face)
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;" in html
