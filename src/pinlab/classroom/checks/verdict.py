"""What a check says about an answer."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.classroom.beliefs import BELIEFS

NEEDS_SIM = "This check needs the simulated device: a GPU's schedules cannot be chosen."


@dataclass(frozen=True)
class Verdict:
    """Made with ``right``, ``wrong`` or ``not_answered``.

    Attributes:
        state: ``"right"``, ``"wrong"`` or ``"open"``.
        text: one or two sentences to the learner.
        belief: for a wrong answer, the id of the belief that usually stands behind it.
        see: for a wrong answer, what to run to see it with one's own eyes.
    """

    state: str
    text: str
    belief: str | None = None
    see: str = ""

    def __str__(self) -> str:
        head = {"right": "right.", "wrong": "not yet.", "open": "not answered yet."}[self.state]
        lines = [f"{head} {self.text}".rstrip()]
        if self.belief:
            belief = BELIEFS[self.belief]
            lines.append(f"  {belief.id}: “{belief.wrong}”")
            lines.append(f"  {belief.true}")
        if self.see:
            lines.append(f"  To see it: {self.see}")
        return "\n".join(lines)


def right(text: str) -> Verdict:
    return Verdict("right", text)


def wrong(text: str, belief: str | None = None, see: str = "") -> Verdict:
    if belief is not None and belief not in BELIEFS:
        raise ValueError(f"no belief {belief!r}; there are {', '.join(BELIEFS)}")
    return Verdict("wrong", text, belief, see)


def not_answered(text: str = "") -> Verdict:
    return Verdict("open", text)
