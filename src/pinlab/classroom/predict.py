"""Write a prediction down, run, and see both side by side.

Predictions live in the running kernel only. Everything prints plain text that is the same in
every run, because lessons are compared as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.question import Question, find_question, is_open

NOTHING = "no prediction recorded"
OTHER = "Otherwise than predicted: the text below says why."

_recorded: dict[str, dict[str, str]] = {}  # question id -> part ("" if it has none) -> option


def predict(question_id: str, answer: Any = ...) -> None:
    """Record an answer to a question of the lesson; dots or None record nothing.

    A question in parts takes a dict (part: answer), in which dots stay open. ValueError for an
    answer that the question does not offer, LookupError for an unknown question; both list what
    there is.

    >>> predict("01.1", ...)
    01.1  What does prompt_lens[0] show after num_prompt_tokens[0] = 7?
      no prediction yet: put '3' or '7' in place of the dots
    >>> predict("01.1", 7)
    01.1  What does prompt_lens[0] show after num_prompt_tokens[0] = 7?
      predicted: 7
    """
    question = find_question(question_id)
    recorded = _read(question, answer)
    forget(question_id)
    if recorded:
        _recorded[question_id] = recorded
    print(_heading(question))
    if not recorded:
        print(f"  no prediction yet: put {_choice(question)} in place of the dots")
    elif question.parts:
        print(f"  predicted: {len(recorded)} of {len(question.parts)}")
    else:
        print(f"  predicted: {recorded['']}")


def reveal(question_id: str, outcome: Any) -> None:
    """Show prediction and outcome side by side; name the belief behind a wrong prediction.

    >>> predict("01.1", 3)
    01.1  What does prompt_lens[0] show after num_prompt_tokens[0] = 7?
      predicted: 3
    >>> reveal("01.1", 7)  # doctest: +ELLIPSIS
    01.1  What does prompt_lens[0] show after num_prompt_tokens[0] = 7?
      predicted: 3
      observed:  7
      Behind “3” usually stands M2: “from_numpy, .numpy(), a slice or a reshape gives me a copy.”
      ...
    """
    question = find_question(question_id)
    observed = _read(question, outcome)
    missing = [part for part in question.parts or ("",) if part not in observed]
    if missing:
        raise ValueError(f"reveal({question_id!r}, …) lacks the outcome of {', '.join(missing)}")
    predicted = _recorded.get(question_id, {})
    print(_heading(question))
    if question.parts:
        _print_table(question, predicted, observed)
        return
    guess = predicted.get("")
    print(f"  predicted: {guess or NOTHING}")
    print(f"  observed:  {observed['']}")
    if guess == observed[""]:
        print("  As predicted.")
    elif guess is not None:
        belief = question.belief_behind(guess)
        print(f"  Behind “{guess}” usually stands {_explained(belief)}" if belief else f"  {OTHER}")


def forget(question_id: str | None = None) -> None:
    """Drop the recorded prediction of one question, or all of them."""
    if question_id is None:
        _recorded.clear()
    else:
        _recorded.pop(question_id, None)


def _read(question: Question, answer: Any) -> dict[str, str]:
    """Part to option, without the parts left open; a single question has one part, ``""``."""
    if is_open(answer):
        return {}
    if not question.parts:
        return {"": question.option(answer)}
    if not isinstance(answer, Mapping):
        raise ValueError(
            f"question {question.id} has {len(question.parts)} parts: give a dict, part: answer; "
            f"got {answer!r}"
        )
    unknown = [str(part) for part in answer if part not in question.parts]
    if unknown:
        raise ValueError(
            f"question {question.id} has no part {unknown[0]!r}; its parts are "
            + ", ".join(question.parts)
        )
    return {
        part: question.option(answer[part])
        for part in question.parts
        if part in answer and not is_open(answer[part])
    }


def _heading(question: Question) -> str:
    return f"{question.id}  {question.prompt}"


def _choice(question: Question) -> str:
    quoted = [repr(option) for option in question.options]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _explained(belief_id: str) -> str:
    belief = BELIEFS[belief_id]
    return f"{belief.id}: “{belief.wrong}”\n  {belief.true}\n  See {belief.see}."


def _print_table(question: Question, predicted: dict[str, str], observed: dict[str, str]) -> None:
    wide = max(map(len, question.parts)) + 2
    narrow = max(len("predicted"), *map(len, question.options)) + 2
    print(f"  {'':{wide}}{'predicted':{narrow}}observed")
    betrayed: dict[str, None] = {}
    for part in question.parts:
        guess = predicted.get(part)
        mark = ""
        if guess is not None and guess != observed[part]:
            belief = question.belief_behind(guess, part)
            mark = f"   <- {belief or 'differs'}"
            if belief:
                betrayed[belief] = None
        print(f"  {part:{wide}}{guess or '-':{narrow}}{observed[part]}{mark}")
    if predicted:
        hits = sum(predicted[part] == observed[part] for part in predicted)
        print(f"  {hits} of {len(predicted)} as predicted.")
    else:
        print(f"  {NOTHING}")
    for belief in betrayed:
        print(f"  {_explained(belief)}")
