"""The scheduler game: you are the scheduler; between two host lines, decide what the device does.

Two faces, one engine (`game_state.py`): buttons and keys in a notebook, `play("hhd")` everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from pinlab.classroom.game_goal import Goal
from pinlab.classroom.game_program import Program
from pinlab.classroom.game_rules import KEYS, Rules, is_key
from pinlab.classroom.game_state import GameState
from pinlab.classroom.game_text import screen
from pinlab.classroom.game_transcript import Transcript
from pinlab.classroom.levels import LEVELS, find_level
from pinlab.schedules import Schedule, ScheduleError
from pinlab.sim import SimError

WITHOUT = 'without buttons: game.play("hhd") plays it as text'
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class SchedulerGame:
    """A game on a program. At the end of a notebook cell it shows itself.

    Args:
        program: takes nothing, returns a value; as for `explore`.
        goal: `Goal.wrong`, `Goal.value`, `Goal.right` or `Goal.certified`.
        repaired: a program to certify once the goal is reached.
        pieces: into how many parts key x tears a copy, 2 or more.
        trace: more functions or modules whose lines count as host steps.
        title, before, after, hint: what to say above it, once the goal is reached, and on key "?".

    >>> import torch
    >>> def program():
    ...     row = torch.tensor([5, 7], pin_memory=True)
    ...     lens = row.to("sim", non_blocking=True)
    ...     row[1] = 40
    ...     return lens.tolist()
    >>> game = SchedulerGame(program, Goal.wrong(expect=[5, 7]))
    >>> played = game.play("hhdhh")
    >>> played.outcome, played.token, played.reached
    ([5, 7], 'h2.d1', False)
    >>> played.moves[2]
    '  3 d  stream 0 ran upload row → lens'
    >>> game.play("hhhh").reached
    True
    """

    def __init__(
        self,
        program: Program,
        goal: Goal,
        *,
        repaired: Program | None = None,
        pieces: int = 2,
        trace: Iterable[Any] = (),
        title: str = "",
        before: str = "",
        after: str = "",
        hint: str = "",
    ) -> None:
        if not isinstance(goal, Goal):
            raise TypeError(f"goal={goal!r}; make one, e.g. Goal.wrong(expect=…)")
        if pieces < 2:
            raise ValueError(f"pieces={pieces}; key x needs 2 or more")
        self.rules = Rules(
            program, goal, repaired, pieces, tuple(trace), title, before, after, hint
        )
        self.first: GameState | None = None

    @classmethod
    def level(cls, wanted: int | str) -> SchedulerGame:
        """The game of a level, by number from 1 or by id; LookupError lists them.

        >>> SchedulerGame.level("staging").play("c").reached
        True
        """
        level = find_level(wanted)
        number = LEVELS.index(level) + 1
        return cls(
            level.program,
            level.goal,
            repaired=level.repaired,
            pieces=level.pieces,
            title=f"Level {number} of {len(LEVELS)}: {level.title}",
            before=level.before,
            after=level.told_after,
            hint=level.hint,
        )

    @property
    def start(self) -> GameState:
        """The state before the first key."""
        if self.first is None:
            self.first = GameState.start(self.rules)
        return self.first

    def play(self, keys: str = "") -> Transcript:
        """Press keys from the start on; blanks between them are passed over.

        h host step · o host step over a call · d or 0 device step of stream 0 · 1 … 9 of that
        stream · x expand · u undo · r reset · c certify · n repaired program · ? hint

        Raises:
            ValueError: naming a key that there is not.
        """
        pressed = "".join(keys.split()).lower()
        for key in pressed:
            if not is_key(key):
                raise ValueError(f"key {key!r} in {keys!r}; keys are {' '.join(KEYS)}")
        states = [self.start]
        for key in pressed:
            states.append(states[-1].press(key))
        return Transcript(pressed, states)

    def replay(self, token: str, pieces: int = 1) -> Transcript:
        """Play a replay token to the end of the program.

        Args:
            token: e.g. ``"h2.d1"``. pieces: as it was found with; 1, or those of this game.

        Raises:
            ScheduleError: if the token does not fit the program.
        """
        if pieces not in (1, self.rules.pieces):
            raise ValueError(f"pieces={pieces}; this game has 1 or {self.rules.pieces}")
        played = _Replay(self.start)
        if pieces > 1:
            played.press("x")
        for position, streams in Schedule.parse(token).plan:
            while played.state.look.position < position and not played.state.look.over:
                played.press("h")
            for stream in streams:
                where = played.state.look.position
                if where != position or not played.press(str(stream) if stream else "d"):
                    raise ScheduleError(f"token {token}: it stands at {where}, {played.why}")
        while not played.state.look.over:
            played.press("h")
        return Transcript(played.keys, played.states)

    def __repr__(self) -> str:
        return screen(self.start)

    def _ipython_display_(self) -> None:
        """The widget where there is a notebook to show it; its text twin for every other reader."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        try:
            text = repr(self)
        except SimError as error:  # on a real GPU: nothing to play, and no reason to stop a lesson
            print(error)
            return
        if not hasattr(shell, "kernel"):
            print(text)
            return
        from pinlab.classroom.game_widget import GameWidget

        self.widget = GameWidget(self)
        print(f"{self.rules.title or self.rules.goal} ({WITHOUT})")
        view = self.widget.box._repr_mimebundle_()[WIDGET_VIEW]
        display = import_module("IPython.display").display
        display({WIDGET_VIEW: view, "text/plain": text}, raw=True)


class _Replay:
    """Presses one key after the other."""

    def __init__(self, start: GameState) -> None:
        self.states = [start]
        self.keys = ""
        self.why = "before it"

    @property
    def state(self) -> GameState:
        return self.states[-1]

    def press(self, key: str) -> bool:
        """Whether it moved."""
        self.states.append(self.state.press(key))
        self.keys += key
        self.why = self.state.message
        return self.state.before is self.states[-2]
