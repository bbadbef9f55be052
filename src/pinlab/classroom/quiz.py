"""Pre- and post-quiz: twelve questions, answered before and after the series, scored by belief.

Answers stay in the running kernel; nothing is sent anywhere. `quiz_sheet.save` writes them to a
file if you ask for it.
"""

from __future__ import annotations

import textwrap
from collections import Counter

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.quiz_items import ITEMS, POST_ORDER, Item

LETTERS = "abcd"
WIDTH = 88  # characters of a line


class Quiz:
    """One of the two quizzes. Print it to read it, `answer` it, then `report`.

    Args:
        which: ``"pre"`` or ``"post"``: the same questions in another order.

    >>> quiz = Quiz("pre")
    >>> quiz.answer(1, "c")
    >>> print(quiz.report())
    pre-quiz: 1 of 12 answered, 1 right
    """

    def __init__(self, which: str) -> None:
        if which not in ("pre", "post"):
            raise ValueError(f"quiz {which!r}; there are 'pre' and 'post'")
        self.which = which
        order = range(1, len(ITEMS) + 1) if which == "pre" else POST_ORDER
        self.items: tuple[Item, ...] = tuple(ITEMS[number - 1] for number in order)
        self.answers: dict[int, str] = {}  # question number → option

    def options(self, number: int) -> tuple[str, ...]:
        """The options of a question; the post-quiz has them in reversed order."""
        options = self._item(number).options
        return options if self.which == "pre" else options[::-1]

    def answer(self, number: int, letter: str) -> None:
        """Record an answer; a later one replaces it.

        Raises:
            ValueError: naming the questions or the letters that there are.
        """
        options = self.options(number)
        letters = LETTERS[: len(options)]
        if letter not in letters or len(letter) != 1:
            raise ValueError(f"question {number} has options {', '.join(letters)}; got {letter!r}")
        self.answers[number] = options[letters.index(letter)]

    def answer_all(self, letters: str) -> None:
        """All at once: one letter for each question, a dot for one left open.

        >>> Quiz("post").answer_all("ab")
        Traceback (most recent call last):
        ...
        ValueError: 'ab' has 2 letters, the quiz 12 questions; put a dot for one left open
        """
        found = "".join(letters.split())
        if len(found) != len(self.items):
            raise ValueError(
                f"{letters!r} has {len(found)} letters, the quiz {len(self.items)} questions; "
                "put a dot for one left open"
            )
        for number, letter in enumerate(found, 1):
            if letter != ".":
                self.answer(number, letter)

    def report(self) -> str:
        """How many are right, and which beliefs the wrong ones betray."""
        right = self.right()
        head = f"{self.which}-quiz: {len(self.answers)} of {len(self.items)} answered, "
        lines = [head + f"{len(right)} right"]
        for belief, count in self.beliefs().items():
            lines += _wrapped(f"{count} × {BELIEFS[belief]}", "  ")
        for number in sorted(self.answers):
            item = self._item(number)
            if number not in right:
                lines += _wrapped(f"{number}. {item.right} {item.why}", "  ")
        return "\n".join(lines)

    def right(self) -> list[int]:
        """The numbers of the questions that are answered rightly."""
        return [n for n, option in self.answers.items() if option == self._item(n).right]

    def beliefs(self) -> dict[str, int]:
        """Belief → how many answers betray it, most frequent first."""
        wrong = self.answers.items()
        found = [self._item(n).wrong[o] for n, o in wrong if o != self._item(n).right]
        return dict(Counter(sorted(found)).most_common())

    def _item(self, number: int) -> Item:
        if not (isinstance(number, int) and 1 <= number <= len(self.items)):
            raise ValueError(f"question {number!r}; there are 1 to {len(self.items)}")
        return self.items[number - 1]

    def __str__(self) -> str:
        lines: list[str] = []
        for number, item in enumerate(self.items, 1):
            lines += ["", *_wrapped(f"{number}. {item.stem}", "")]
            lines += [f"       {line}" for line in item.code.splitlines()]
            for letter, option in zip(LETTERS, self.options(number), strict=False):
                lines += _wrapped(f"{letter}  {option}", "   ")
        return "\n".join(lines[1:])

    def __repr__(self) -> str:
        return f"<{self.which}-quiz, {len(self.answers)} of {len(self.items)} answered>"


def compare(pre: Quiz, post: Quiz) -> str:
    """What changed between two quizzes, belief by belief."""
    before, after = pre.beliefs(), post.beliefs()
    lines = [pre.report().splitlines()[0], post.report().splitlines()[0]]
    for belief in BELIEFS:
        if belief in before or belief in after:
            lines.append(f"  {belief:<4} {before.get(belief, 0)} → {after.get(belief, 0)}")
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "   ")
