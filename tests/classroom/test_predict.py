"""Predictions are kept, compared, and answered with the belief behind them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pinlab.classroom import BELIEFS, predict, reveal
from pinlab.classroom.predict import forget
from pinlab.classroom.questions.lesson_01 import EXPRESSIONS


@pytest.fixture(autouse=True)
def nothing_recorded() -> Iterator[None]:
    forget()
    yield
    forget()


def test_running_untouched_says_that_nothing_was_recorded(capsys) -> None:
    predict("01.1", ...)
    assert "no prediction yet: put '3' or '7' in place of the dots" in capsys.readouterr().out
    reveal("01.1", 7)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  predicted: no prediction recorded",
        "  observed:  7",
    ]


def test_a_right_prediction_is_confirmed(capsys) -> None:
    predict("01.1", 7)
    reveal("01.1", np.int32(7))
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "  predicted: 7",
        "  observed:  7",
        "  As predicted.",
    ]


def test_a_wrong_prediction_is_answered_with_the_belief_behind_it(capsys) -> None:
    predict("01.1", "3")
    reveal("01.1", 7)
    out = capsys.readouterr().out
    assert "predicted: 3\n  observed:  7\n" in out
    assert "Behind “3” usually stands M2: “" + BELIEFS["M2"].wrong in out
    assert BELIEFS["M2"].true in out
    assert BELIEFS["M2"].see in out


def test_a_wrong_prediction_without_a_known_belief_points_to_the_text(capsys) -> None:
    predict("01.6", "no")
    reveal("01.6", True)
    assert "the text below says why" in capsys.readouterr().out


def test_the_last_prediction_counts_and_dots_take_it_back(capsys) -> None:
    predict("01.1", 3)
    predict("01.1", 7)
    reveal("01.1", 7)
    assert "As predicted." in capsys.readouterr().out
    predict("01.1", ...)
    reveal("01.1", 7)
    assert "no prediction recorded" in capsys.readouterr().out


def test_an_answer_that_is_not_offered_changes_nothing(capsys) -> None:
    predict("01.1", 7)
    with pytest.raises(ValueError, match="takes one of '3', '7'; got 5"):
        predict("01.1", 5)
    reveal("01.1", 7)
    assert "As predicted." in capsys.readouterr().out


OUTCOME = {name: "copy" if "[[" in name else "shared" for name in EXPRESSIONS}


def test_a_question_in_parts_is_compared_part_by_part(capsys) -> None:
    predict("01.4", {"a[1:4]": "copy", "a[[1, 2, 3]]": "copy", "t.clone()": ..., "t.numpy()": True})
    assert "predicted: 3 of 14" in capsys.readouterr().out
    reveal("01.4", OUTCOME)
    out = capsys.readouterr().out
    rows = {line[2:32].strip(): line[32:].split() for line in out.splitlines()[2:16]}
    assert rows["a[1:4]"] == ["copy", "shared", "<-", "M2"]
    assert rows["a[[1, 2, 3]]"] == ["copy", "copy"]
    assert rows["t.numpy()"] == ["shared", "shared"]
    assert rows["t.clone()"] == ["-", "shared"]
    assert "2 of 3 as predicted." in out
    assert out.count(BELIEFS["M2"].wrong) == 1


def test_a_question_in_parts_works_untouched(capsys) -> None:
    predict("01.4", dict.fromkeys(EXPRESSIONS, ...))
    reveal("01.4", OUTCOME)
    out = capsys.readouterr().out
    assert "no prediction yet" in out
    assert out.rstrip().endswith("no prediction recorded")
    assert "as predicted" not in out


def test_parts_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"no part 'a\[9\]'; its parts are torch.from_numpy"):
        predict("01.4", {"a[9]": "copy"})
    with pytest.raises(ValueError, match="give a dict, part: answer"):
        predict("01.4", "copy")
    with pytest.raises(ValueError, match=r"lacks the outcome of t\.clone\(\)"):
        reveal("01.4", {name: True for name in EXPRESSIONS if name != "t.clone()"})
    with pytest.raises(ValueError, match="lacks the outcome"):
        reveal("01.1", ...)


def test_the_text_is_the_same_in_every_run(capsys) -> None:
    texts = set()
    for _ in range(2):
        forget()
        predict("01.4", {"a[1:4]": "copy"})
        reveal("01.4", OUTCOME)
        texts.add(capsys.readouterr().out)
    assert len(texts) == 1
