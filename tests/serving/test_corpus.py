"""The corpus as it ships, and what the reader refuses."""

from __future__ import annotations

from collections import Counter

import pytest

from pinlab.serving.corpus import load_corpus, parse_corpus, texts, texts_digest

QUESTIONS = load_corpus()


def toml(*passages: tuple[str, str], id: str = "q", text: str = "Why?") -> str:
    lines = ["[[query]]", f'id = "{id}"', f'text = "{text}"']
    for relevance, passage in passages:
        lines += ["[[query.passage]]", f"relevance = {relevance}", f'text = "{passage}"']
    return "\n".join(lines) + "\n"


def test_there_are_eight_questions_with_twelve_passages_each() -> None:
    assert [len(question.passages) for question in QUESTIONS] == [12] * 8


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_every_question_has_all_grades_and_at_least_four_distractors(question) -> None:
    grades = Counter(passage.relevance for passage in question.passages)
    assert set(grades) == {0, 1, 2, 3}
    assert grades[3] >= 2
    assert grades[0] >= 4


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_texts_are_single_clean_lines_of_ascii(question) -> None:
    for text in (question.text, *(passage.text for passage in question.passages)):
        assert text.isascii()
        assert text == " ".join(text.split())
        assert text[-1] in ".?"


def test_no_text_appears_under_two_questions() -> None:
    assert max(Counter(texts(QUESTIONS)).values()) == 1


def test_texts_come_as_question_passages_next_question() -> None:
    everything = texts(QUESTIONS)
    assert len(everything) == 8 * 13
    assert everything[13] == QUESTIONS[1].text
    assert everything[14] == QUESTIONS[1].passages[0].text


def test_the_digest_changes_with_one_character_and_with_a_moved_border() -> None:
    digests = {
        texts_digest(parse_corpus(toml(("3", "ab"), ("0", "c")))),
        texts_digest(parse_corpus(toml(("3", "aB"), ("0", "c")))),
        texts_digest(parse_corpus(toml(("3", "a"), ("0", "bc")))),
    }
    assert len(digests) == 3


def test_the_digest_ignores_grades_which_the_states_do_not_depend_on() -> None:
    one, other = (parse_corpus(toml((grade, "a"))) for grade in "13")
    assert texts_digest(one) == texts_digest(other)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[[query", "not valid TOML"),
        ("", r"no \[\[query\]\] entry"),
        (toml(), "question 'q' has no passages"),
        (toml(("4", "a")), r"passage number 0 of question 'q': relevance must be .* got 4"),
        (toml(("true", "a")), "got True"),
        (toml(("2.0", "a")), "got 2.0"),
        (toml(("1", " ")), "'text' must be a non-empty string, got ' '"),
        (toml(("1", "a"), id=""), "question number 0: 'id' must be a non-empty string"),
        (toml(("1", "a"), ("2", "a")), "passage 'a' appears 2 times in question 'q'"),
        (toml(("1", "a")) * 2, "question id 'q' appears 2 times"),
        (toml(("1", "a")) + toml(("1", "a"), ("2", "b"), id="r"), r"\{'q': 1, 'r': 2\}"),
    ],
)
def test_a_broken_corpus_is_refused_with_the_place_named(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_corpus(source)
