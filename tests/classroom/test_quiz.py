"""The quiz: every wrong option is a belief, every belief is asked for, scores are by belief."""

from __future__ import annotations

import pytest

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.quiz import LETTERS, Quiz, compare
from pinlab.classroom.quiz_items import ITEMS, POST_ORDER


def letter_of(quiz: Quiz, number: int, option: str) -> str:
    return LETTERS[quiz.options(number).index(option)]


def test_there_are_twelve_questions_and_each_belief_has_an_option() -> None:
    assert [item.id for item in ITEMS] == [f"Q{n}" for n in range(1, 13)]
    assert {belief for item in ITEMS for belief in item.wrong.values()} == set(BELIEFS)


def test_post_quiz_asks_the_same_questions_in_another_order() -> None:
    pre, post = Quiz("pre"), Quiz("post")
    assert sorted(POST_ORDER) == list(range(1, 13))
    assert {item.id for item in pre.items} == {item.id for item in post.items}
    assert all(a.id != b.id for a, b in zip(pre.items, post.items, strict=True) if a.id != "Q2")


def test_the_right_option_has_no_fixed_letter() -> None:
    quiz = Quiz("pre")
    letters = {letter_of(quiz, n, item.right) for n, item in enumerate(quiz.items, 1)}
    assert len(letters) >= 3


@pytest.mark.parametrize("which", ["pre", "post"])
def test_all_right_answers_betray_no_belief(which: str) -> None:
    quiz = Quiz(which)
    right = [letter_of(quiz, n, item.right) for n, item in enumerate(quiz.items, 1)]
    quiz.answer_all("".join(right))
    assert quiz.report() == f"{which}-quiz: 12 of 12 answered, 12 right"


def test_each_wrong_answer_is_met_by_its_belief_and_the_right_one() -> None:
    for number, item in enumerate(Quiz("pre").items, 1):
        for option, belief in item.wrong.items():
            quiz = Quiz("pre")
            quiz.answer(number, letter_of(quiz, number, option))
            assert quiz.beliefs() == {belief: 1}
            assert f"1 × {belief}: " in quiz.report()


def test_comparison_counts_beliefs_before_and_after() -> None:
    pre, post = Quiz("pre"), Quiz("post")
    pre.answer(1, letter_of(pre, 1, next(iter(ITEMS[0].wrong))))
    assert compare(pre, post).splitlines()[-1].strip() == "M2   1 → 0"


def test_bad_input_is_refused_with_what_there_is() -> None:
    quiz = Quiz("pre")
    with pytest.raises(ValueError, match="'pre' and 'post'"):
        Quiz("mid")
    with pytest.raises(ValueError, match="there are 1 to 12"):
        quiz.answer(13, "a")
    with pytest.raises(ValueError, match="has options a, b, c; got 'z'"):
        quiz.answer(1, "z")
    assert quiz.answers == {}


def test_it_prints_every_question_with_its_options() -> None:
    text = str(Quiz("post"))
    assert text.count("\n   a  ") == 12
    assert max(map(len, text.splitlines())) <= 88
