"""The game in a kernel without a front end, as nbval, nbconvert and `make run` have it."""

from __future__ import annotations

import nbformat
import pytest

from pinlab.classroom import SchedulerGame
from pinlab.classroom.game import WIDGET_VIEW
from tests.kernels import run_cells
from tools.canonical import canonical_outputs

pytestmark = pytest.mark.slow

HELPER = """\
def send(row):
    return row.to("sim", non_blocking=True)"""
PROGRAM = """\
import torch
from pinlab.classroom import Goal, SchedulerGame

def program():
    row = torch.tensor([5, 7], pin_memory=True)
    lens = send(row)
    row[1] = 40
    return lens.tolist()

game = SchedulerGame(program, Goal.right(expect=[5, 7]))
game"""
PLAYED = 'game.play("ood hh")'
LEVEL = "SchedulerGame.level(9)"
TYPED = 'game.widget.keys.value = "oodhh"; game.widget.state.reached'


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[nbformat.NotebookNode]]:
    """The outputs of each cell."""
    cells = (HELPER, PROGRAM, PLAYED, LEVEL, TYPED)
    return [cell.outputs for cell in run_cells(cells, tmp_path_factory.mktemp("kernel"))]


def test_it_prints_a_line_and_shows_the_widget_with_its_text(outputs) -> None:
    printed, shown = outputs[1]
    assert printed.text.startswith("make it right: [5, 7] (without buttons: game.play(")
    assert set(shown.data) == {WIDGET_VIEW, "text/plain"}
    assert " ▸   2 |     row = torch.tensor([5, 7], pin_memory=True)" in shown.data["text/plain"]


def test_lines_of_a_cell_are_numbered_within_their_function(outputs) -> None:
    (shown,) = outputs[2]
    text = shown.data["text/plain"]
    assert "value     [5, 7]" in text
    assert "  2 o  line 3 ran, with 1 line in its calls" in text
    assert "  3 d  stream 0 ran upload row → lens" in text


def test_its_text_is_the_same_in_every_kernel(outputs) -> None:
    printed, shown = outputs[3]
    assert shown.data["text/plain"] == repr(SchedulerGame.level(9))
    assert printed.text.startswith("Level 9 of 10: The hand-over (without buttons: ")


def test_what_is_committed_names_no_model_of_this_run(outputs) -> None:
    model = outputs[1][1].data[WIDGET_VIEW]["model_id"]
    assert model not in str(canonical_outputs(outputs[1], 2))


def test_the_widget_plays_without_a_front_end(outputs) -> None:
    assert outputs[4][0].data["text/plain"] == "True"
