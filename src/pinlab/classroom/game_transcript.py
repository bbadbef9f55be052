"""What a string of keys made of a game: every state, and the last one to read."""

from __future__ import annotations

from collections.abc import Iterator

from pinlab.classroom.game_state import GameState
from pinlab.classroom.game_text import screen


class Transcript:
    """A played game.

    Attributes:
        keys: what was pressed.
        states: the state before the first key and after each.
    """

    def __init__(self, keys: str, states: list[GameState]) -> None:
        self.keys = keys
        self.states = states

    @property
    def state(self) -> GameState:
        """The last state."""
        return self.states[-1]

    @property
    def token(self) -> str:
        """The replay token: ``replay(program, token, pieces=transcript.pieces)``."""
        return self.state.token

    @property
    def pieces(self) -> int:
        """Into how many parts copies were torn; 1 if they were not."""
        return self.state.played.pieces

    @property
    def reached(self) -> bool:
        """Whether the last state reaches the goal."""
        return self.state.reached

    @property
    def won(self) -> bool:
        """Whether some state reached the goal on the first program."""
        return self.state.won

    @property
    def outcome(self) -> object:
        """What the program returned, None while it is not over."""
        outcome = self.state.look.outcome
        return None if outcome is None else outcome.value

    @property
    def moves(self) -> list[str]:
        """One line a key: what it did."""
        return list(self._moves())

    def _moves(self) -> Iterator[str]:
        for number, (key, state) in enumerate(zip(self.keys, self.states[1:], strict=True), 1):
            yield f"{number:3} {key}  {state.message}"

    def __repr__(self) -> str:
        parts = [screen(self.state)]
        if self.keys:
            parts += ["", "moves", *self._moves()]
        return "\n".join(parts)
