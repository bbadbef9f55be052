"""The game's face in a notebook: buttons, a field for keys, and HTML that shows the state.

The field holds all keys pressed so far, and the state is what they lead to: typing goes on, and
deleting goes back. A button types its key into the field. So there is one way into the engine, and
neither field nor buttons are ever made anew, disabled or hidden: the focus stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from pinlab.classroom import game_html
from pinlab.classroom.game_state import GameState

if TYPE_CHECKING:
    from pinlab.classroom.game import SchedulerGame

BUTTONS = (
    ("h", "host step (h)", "The host runs its next line"),
    ("o", "over (o)", "The host runs its next line with all calls in it"),
    ("x", "expand (x)", "Copies run in parts from here on"),
    ("u", "undo (u)", "One step back"),
    ("r", "reset (r)", "Back to the start"),
    ("c", "certify (c)", "Run every schedule and say whether one breaks it"),
    ("n", "repaired (n)", "The repaired program, once the goal is reached"),
    ("?", "hint (?)", "A hint"),
)


class GameWidget:
    """What `SchedulerGame` shows in a notebook.

    Attributes:
        box: the widget to display.
        keys: the field with the keys pressed so far.
        buttons: by key.
    """

    def __init__(self, game: SchedulerGame) -> None:
        self.played: list[tuple[str, GameState]] = [("", game.start)]
        self.parts = {name: widgets.HTML() for name in ("head", "source", "device", "said")}
        self.parts |= {name: widgets.HTML() for name in ("token", "end")}
        self.keys = widgets.Text(
            description="keys",
            placeholder="click or Tab here, then type h, d, …",
            tooltip="Keys pressed so far. Type to go on, delete to go back.",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="30em", max_width="100%"),
        )
        self.keys.observe(self._typed, names="value")
        self.buttons = {key: self._button(key, label, tip) for key, label, tip in BUTTONS}
        self.streams = widgets.HBox(layout=widgets.Layout(flex_flow="row wrap"))
        self.box = self._laid_out()
        self._show()

    @property
    def state(self) -> GameState:
        """Where the game stands."""
        return self.played[-1][1]

    def _laid_out(self) -> widgets.VBox:
        wrap = widgets.Layout(flex_flow="row wrap")
        for side in ("source", "device"):  # side by side where there is room, else one below
            self.parts[side].layout = widgets.Layout(
                flex="1 1 36em", max_width="100%", min_width="0", overflow="auto"
            )
        sides = widgets.HBox([self.parts["source"], self.parts["device"]], layout=wrap)
        first = widgets.HBox([self.buttons["h"], self.buttons["o"], self.streams], layout=wrap)
        rest = [button for key, button in self.buttons.items() if key not in "ho"]
        return widgets.VBox(
            [
                self.parts["head"],
                self.keys,  # above what grows and shrinks, so that no button moves away
                first,
                widgets.HBox(rest, layout=wrap),
                self.parts["said"],
                sides,
                self.parts["token"],
                self.parts["end"],
                widgets.HTML(game_html.keys()),
            ]
        )

    def _button(self, key: str, label: str, tooltip: str) -> widgets.Button:
        button = widgets.Button(
            description=label, tooltip=tooltip, layout=widgets.Layout(width="auto")
        )
        button.on_click(lambda _: self._press(key))
        return button

    def _press(self, key: str) -> None:
        self.keys.value += key

    def _typed(self, change: Any) -> None:
        """Go back to what the old and the new keys have in common, and on from there."""
        wanted = "".join(change["new"].split()).lower()
        have = "".join(key for key, _ in self.played)
        same = next((i for i, (a, b) in enumerate(zip(have, wanted, strict=False)) if a != b), None)
        same = min(len(have), len(wanted)) if same is None else same
        del self.played[same + 1 :]
        for key in wanted[same:]:
            self.played.append((key, self.state.press(key)))
        self._show()

    def _show(self) -> None:
        state = self.state
        for name, part in self.parts.items():
            text = getattr(game_html, name)(state)
            if part.value != text:
                part.value = text
        self._offer_streams(len(state.look.queues))

    def _offer_streams(self, count: int) -> None:
        """A button for each stream; once there it stays, so that the focus can."""
        made = [*self.streams.children]
        for stream in range(len(made), count):
            key = str(stream) if stream else "d"
            tooltip = f"The device makes one step on stream {stream}"
            made.append(self._button(key, f"device, stream {stream} ({key})", tooltip))
        if len(made) > len(self.streams.children):
            self.streams.children = made
