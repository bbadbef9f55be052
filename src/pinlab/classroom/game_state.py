"""Where a game stands, and what each key makes of it. Both faces of the game show this and no more.

A state never changes: a key gives another state, and undo gives back the one before. A key that
cannot be obeyed gives the same state with a message that says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.game_look import Look
from pinlab.classroom.game_program import Played, Program
from pinlab.classroom.game_rules import KEYS, REPAIRED, Rules
from pinlab.classroom.game_words import told, why_not
from pinlab.schedules import NondeterministicProgramError, Report, Schedule
from pinlab.sim import SimError


@dataclass(frozen=True, eq=False, repr=False)
class GameState:
    """One position of the game; make the first with `GameState.start(rules)`.

    Attributes:
        rules: what is played.
        played: the program that is on, with its copies in so many parts.
        schedule: the device steps chosen so far; `str` of it is the replay token.
        look: source, queues, memory, outcome.
        message: what the last key did, or why it did nothing.
        repaired: whether the repaired program is on.
        won: whether the goal on the first program was reached at some time.
        before: what undo gives back.
        report: of the explorer, if it was asked at this position.
    """

    rules: Rules
    played: Played
    schedule: Schedule
    look: Look
    message: str
    repaired: bool = False
    won: bool = False
    before: GameState | None = None
    report: Report | None = None

    @classmethod
    def start(cls, rules: Rules) -> GameState:
        """Before the first line of the program."""
        played = Played(rules.program, rules.trace)
        return cls(rules, played, Schedule(), played.start(), "before the first line")

    def press(self, key: str) -> GameState:
        """The state after a key; see `KEYS`."""
        actions = {
            "h": self.host,
            "o": self.over,
            "x": self.expand,
            "u": self.undo,
            "r": self.reset,
            "c": self.certify,
            "n": self.switch,
            "?": self.hint,
        }
        if key in actions:
            state = actions[key]()
        elif key == "d" or key.isdecimal():
            state = self.device(0 if key == "d" else int(key))
        else:
            state = self.refuse(f"key {key!r} means nothing here; keys: {' '.join(KEYS)}")
        return replace(state, won=self.won or state.won or (state.reached and not state.repaired))

    # -- what is asked for ------------------------------------------------------------------------

    @property
    def goal(self) -> Goal:
        """What to bring about now: on the repaired program, a certificate."""
        return Goal.certified(self.rules.goal.expect) if self.repaired else self.rules.goal

    @property
    def introduction(self) -> str:
        """What to say above the program that is on."""
        return REPAIRED if self.repaired else self.rules.before

    @property
    def reached(self) -> bool:
        """Whether this position reaches the goal."""
        return self.goal.reached(self.look.outcome, self.report)

    @property
    def token(self) -> str:
        """The replay token so far; what it leaves out runs when the host waits for it."""
        return str(self.schedule)

    @property
    def verdict(self) -> str:
        """How it stands with the goal, in words."""
        if self.reached:
            more = self.rules.repaired is not None and not self.repaired
            return "reached" + ("; now the repaired program: n" if more else "")
        if self.report is not None:
            return "not certified"
        if self.goal.kind == "certified":
            return "not yet: play, then c asks for the certificate"
        if self.look.over:
            return "not with this schedule; u goes back a step, r to the start"
        return "not yet"

    # -- the moves --------------------------------------------------------------------------------

    def refuse(self, why: str) -> GameState:
        """The same position, with the reason why nothing happened."""
        return replace(self, message=why)

    def host(self) -> GameState:
        """The host runs its next line."""
        if self.look.over:
            return self.refuse("the program is over: u goes back a step, r to the start")
        return self._after(self.schedule, self.played.host(self.schedule, self.look))

    def over(self) -> GameState:
        """The host runs on to the next line of the program's own function."""
        if self.look.over:
            return self.host()
        return self._after(self.schedule, self.played.over(self.schedule, self.look))

    def device(self, stream: int) -> GameState:
        """A stream makes one step, if it can."""
        why = why_not(self.look, stream)
        if why:
            return self.refuse(why)
        return self._after(*self.played.device(self.schedule, self.look, stream))

    def expand(self) -> GameState:
        """From here on copies run in parts; what ran so far ran in all its parts."""
        pieces = self.rules.pieces
        if self.played.pieces > 1:
            return self.refuse(f"copies run in {self.played.pieces} parts already; u goes back")
        if self.look.over:
            return self.host()
        played = self.played.torn(pieces)
        schedule, look = _again(played, self)
        message = f"each copy now runs in {pieces} parts, one step each"
        return self._moved(message, played=played, schedule=schedule, look=look)

    def undo(self) -> GameState:
        """The state before the last key that did something."""
        if self.before is None:
            return self.refuse("nothing to undo: this is the start")
        return replace(self.before, message="one step back")

    def reset(self) -> GameState:
        """Before the first line again, copies in one piece; undo takes it back."""
        program = self.rules.repaired if self.repaired else self.rules.program
        assert program is not None
        return self._begin(program, "back at the start", self.repaired)

    def switch(self) -> GameState:
        """To the repaired program, once the goal is reached, and back."""
        if self.rules.repaired is None:
            return self.refuse("there is no repaired program here")
        if not (self.won or self.reached):
            return self.refuse("first reach the goal; then n shows the repaired program")
        if self.repaired:
            return self._begin(self.rules.program, "the first program again", False)
        return self._begin(self.rules.repaired, "the repaired program", True)

    def certify(self) -> GameState:
        """Ask the explorer for every schedule."""
        try:
            report = self.played.certify(self.rules.goal.expect)
        except (NondeterministicProgramError, SimError) as error:
            return self.refuse(f"no certificate: {error}")
        if report.correct:
            return self._moved("certified: no schedule breaks it", report=report)
        if self.won or self.repaired:
            return self._moved("no certificate", report=report)
        count = len(report.outcomes)
        said = "a wrong one under every schedule" if count == 1 else f"{count} different ones"
        text = f"no certificate: {report.explored:,} schedules run, outcomes: {said}"
        return self.refuse(text)

    def hint(self) -> GameState:
        """The level's hint, as the message."""
        return self.refuse(self.rules.hint or "no hint here")

    def __repr__(self) -> str:
        where = "over" if self.look.over else f"at {self.look.position}"
        return f"<game {where}, token {self.token}, goal {self.verdict}>"

    def _begin(self, program: Program, message: str, repaired: bool) -> GameState:
        played = Played(program, self.rules.trace)
        return self._moved(
            message,
            played=played,
            schedule=Schedule(),
            look=played.start(),
            repaired=repaired,
        )

    def _after(self, schedule: Schedule, look: Look) -> GameState:
        message = told(self.look, look)
        return self._moved(message, schedule=schedule, look=look.since(self.look))

    def _moved(self, message: str, **changes: Any) -> GameState:
        changes.setdefault("report", None)
        return replace(self, message=message, before=self, **changes)


def _again(played: Played, state: GameState) -> tuple[Schedule, Look]:
    """The steps of a state made again with its copies in parts: each step by all of its parts."""
    schedule, look = Schedule(), state.look
    for step in state.look.steps:
        if step.is_host or step.forced or step.stream is None:
            continue
        while True:
            look = played.prefix.at(schedule, step.position, played.look)
            if step.number not in [entry.number for queue in look.queues for entry in queue]:
                break
            schedule, _ = played.device(schedule, look, step.stream)
    return schedule, played.prefix.at(schedule, state.look.position, played.look)
