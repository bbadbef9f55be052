"""One level of the scheduler game, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pinlab.classroom.beliefs import BELIEFS
from pinlab.classroom.game_goal import Goal


@dataclass(frozen=True)
class Level:
    """A program, what to make of it, and what to say.

    Attributes:
        id, title: how it is called.
        program, repaired: the programs; `repaired` is None where there is nothing to repair.
        goal: what to bring about.
        before: what the player reads first; blank lines separate paragraphs.
        after: what there is to say once the goal is reached.
        belief: id of the belief that the level is about.
        hint: a nudge, not the way.
        latest: what comes out if the device only moves when the host waits.
        early: what comes out if each operation runs as soon as it is queued.
        token: a replay token that reaches the goal, "" where the goal is a certificate.
        torn: the token holds for copies torn into `pieces` parts.
        pieces: into how many parts `x` tears a copy.
    """

    id: str
    title: str
    program: Callable[[], Any] = field(repr=False)
    goal: Goal
    before: str = field(repr=False)
    after: str = field(repr=False)
    belief: str
    hint: str = field(repr=False)
    latest: Any = field(repr=False)
    early: Any = field(repr=False)
    token: str = field(repr=False)
    repaired: Callable[[], Any] | None = field(default=None, repr=False)
    torn: bool = field(default=False, repr=False)
    pieces: int = field(default=2, repr=False)

    def __post_init__(self) -> None:
        if self.belief not in BELIEFS:
            raise ValueError(f"level {self.id}: no belief {self.belief!r}")
        if not self.token and self.goal.kind != "certified":
            raise ValueError(f"level {self.id}: no token that reaches the goal")

    @property
    def told_after(self) -> str:
        """`after`, the two plain schedules, and the belief."""
        belief = BELIEFS[self.belief]
        plain = (
            f"If the device only moves when the host waits, {self.latest!r} comes out; if each "
            f"operation runs as soon as it is queued, {self.early!r}."
        )
        return f"{self.after}\n\n{plain}\n\nBelief {belief.id}: “{belief.wrong}” {belief.true}"
