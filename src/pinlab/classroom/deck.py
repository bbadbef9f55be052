"""Sixteen cases as cards: report, rules and code first, the answer after the learner has said."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields
from typing import Any

from pinlab.casebook import Case, case
from pinlab.schedules import Report
from pinlab.sim.platform import CUDA

WIDTH = 92  # characters of a line
NO_BUG = "no bug"

_ORDER = (
    ("Z02", "Z08", "C07", "Z31", "Z12"),
    ("Z37", "C01", "Z41", "Z57", "C02"),
    ("Z63", "C04", "Z67", "Z21", "Z71", "Z53"),
)
# What a control's reporter claimed, without the words by which the book gives the answer away.
_CLAIMS = {
    "C01": "The pinned source of an upload is freed while the copy may still read it.",
    "C02": "The landing buffer of a download is used before anybody waits for it.",
    "C04": "Reranker scores near zero: a kernel is said to run before the upload is over.",
    "C07": "One buffer is refilled step after step, and nothing waits for the uploads.",
}
# Where another letter is a fair reading too: its reason.
_ALSO = {
    "Z08": "C is fair too: the map lives from one iteration to the next.",
    "Z21": "B is fair too, if the two calls count as one step.",
    "Z53": "Not E: that is host memory, and here a device block changes hands.",
    "Z63": "D is fair too: it is a read before its time. CUDA's runtime completes that copy first.",
    "Z67": "F is fair too: an edge between two streams is missing.",
    "Z71": "A is fair too: an alias, and a second process.",
}


@dataclass(frozen=True, repr=False)
class Card:
    """One case, face up: print it. What it is stays in `case`.

    Attributes:
        number: 1 to 16.
        case: the case.

    >>> print(DECK[1])
    card 1
      reported: A request loses its restriction to allowed tokens after the batch was reordered.
      rules:    CUDA's
        allowed = torch.tensor([1, 2])
        allowed[0], allowed[1] = allowed[1], allowed[0]
        return allowed.tolist(), [2, 1]
    """

    number: int
    case: Case

    @property
    def name(self) -> str:
        """``"card 1"``"""
        return f"card {self.number}"

    @property
    def code(self) -> str:
        """The lines of the program, without its head; it returns (observed, expected)."""
        body = self.case.source("broken").split("\n", 1)[1]
        return textwrap.dedent(body).strip("\n")

    @property
    def rules(self) -> str:
        """The platform's rules that are not CUDA's."""
        mine = self.case.platform
        other = [
            f"{rule.name}={getattr(mine, rule.name)!r}"
            for rule in fields(mine)
            if getattr(mine, rule.name) != getattr(CUDA, rule.name)
        ]
        return f"CUDA's, but {', '.join(other)}" if other else "CUDA's"

    def answer(self, report: Report) -> str:
        """The kind's letter, or ``"no bug"`` if every schedule is right."""
        return NO_BUG if report.correct else self.case.kind.letter

    def told(self, report: Report) -> str:
        """What it was, with the schedule that shows it."""
        what = f"kind {self.case.kind}"
        if report.correct:
            what = f"no bug, and not {self.case.kind}"
        lines = [f"{self.name}: {what} ({self.case.id}, {self.case.public_id})"]
        lines += _wrapped(self.case.mechanism, "  ")
        lines += _wrapped(_ALSO.get(self.case.id, ""), "  ")
        lines.append(f"  {_found(report)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        claim = _CLAIMS.get(self.case.id, self.case.symptom)
        head = [self.name, *_wrapped(f"reported: {claim}", "  "), f"  rules:    {self.rules}"]
        return "\n".join([*head, textwrap.indent(self.code, "    ")])

    def __repr__(self) -> str:
        return f"<{self.name}: print it>"


def _found(report: Report) -> str:
    expected: Any = report.reference
    if report.correct:
        return f"{expected} in every schedule"
    wrong = next(value for value in report.outcomes if value != expected)
    return f"{wrong} instead of {expected}, under {report.outcomes[wrong][0]}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


_IDS = [id for ids in _ORDER for id in ids]
DECK: dict[int, Card] = {number: Card(number, case(id)) for number, id in enumerate(_IDS, 1)}
"""The cards by number."""

ROUNDS: tuple[tuple[Card, ...], ...] = tuple(
    tuple(card for card in DECK.values() if card.case.id in ids) for ids in _ORDER
)
"""The cards of each round, in order."""
