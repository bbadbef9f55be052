"""Writes the quizzes for paper, workshop/quiz.md, and the key to them, workshop/quiz_key.md.

Usage: python -m tools.quiz_page
"""

from __future__ import annotations

from pathlib import Path

from pinlab.classroom.quiz import LETTERS, Quiz

WORKSHOP = Path(__file__).resolve().parents[1] / "workshop"
HEAD = """\
# The quiz on paper

Twelve questions before the series, and the same twelve in another order after it. Guess where you
must, leave open what you cannot answer. No name is needed; put the same sign of your choice on both
sheets if you want to compare them. In a terminal: `python -m pinlab quiz pre`.

This page is written by `python -m tools.quiz_page`; a test compares it with the questions.
"""
KEY_HEAD = """\
# Key to the quiz

For whoever scores the paper. A letter in bold is right; behind each wrong one stands the belief
that it betrays, by its id in the [instructor guide](instructor_guide.md#the-fourteen-beliefs).
Count per belief, before and after; do not count per person.

This page is written by `python -m tools.quiz_page`; a test compares it with the questions.
"""
TITLES = {"pre": "Before the series", "post": "After the series"}


def page() -> str:
    """Both quizzes, questions only."""
    parts = [HEAD]
    for which, title in TITLES.items():
        parts.append(f"## {title}\n")
        quiz = Quiz(which)
        parts += [_question(quiz, number) for number in range(1, len(quiz.items) + 1)]
    return "\n".join(parts)


def _question(quiz: Quiz, number: int) -> str:
    item = quiz.items[number - 1]
    lines = [f"### {TITLES[quiz.which].split()[0]} {number}\n", f"{item.stem}\n"]
    if item.code:
        lines += ["```python", item.code, "```\n"]
    for letter, option in zip(LETTERS, quiz.options(number), strict=False):
        lines.append(f"- ☐ **{letter}** {_marked(option)}")
    return "\n".join(lines) + "\n"


def _marked(option: str) -> str:
    """The option, as code if it is a line of code."""
    is_code = option.startswith(("d = ", "gpu.", "keep."))
    return f"`{option}`" if is_code else option.replace("_", r"\_").replace("[", r"\[")


def key() -> str:
    """A table for each quiz: letter, right or belief."""
    parts = [KEY_HEAD]
    for which, title in TITLES.items():
        quiz = Quiz(which)
        parts.append(f"## {title}: the key\n")
        parts += ["| question | in the data | " + " | ".join(LETTERS) + " |", "|---" * 6 + "|"]
        for number, item in enumerate(quiz.items, 1):
            options = zip(LETTERS, quiz.options(number), strict=False)
            cells = [f"**{a}**" if b == item.right else f"{a} {item.wrong[b]}" for a, b in options]
            cells += [""] * (len(LETTERS) - len(cells))
            parts.append(f"| {number} | {item.id} | " + " | ".join(cells) + " |")
        parts.append("")
    parts.append("## Why\n")
    parts += [f"- **{item.id}.** {item.why}" for item in Quiz("pre").items]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write both pages."""
    (WORKSHOP / "quiz.md").write_text(page(), encoding="utf-8")
    (WORKSHOP / "quiz_key.md").write_text(key(), encoding="utf-8")


if __name__ == "__main__":
    main()
