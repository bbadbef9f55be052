"""The scheduler game, played in a real JupyterLab in Chromium: `make browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.contrast import faint
from tests.browser.lab import FLAGS, TOKEN, chromium, jupyterlab, notebook, set_theme

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install -e '.[browser]'"
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(chromium() is None, reason="needs Chromium; none on this machine"),
]

PICTURES = Path(__file__).resolve().parents[2] / "build" / "browser"
CELL = "from pinlab.classroom import SchedulerGame\ngame = SchedulerGame.level({level})\ngame"
PATIENCE = 60_000  # milliseconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with jupyterlab(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


class Player:
    """Somebody at the keyboard."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, keys: str) -> None:
        """Type single keys."""
        self.page.keyboard.type(keys)

    def tab_to(self, name: str, limit: int = 60) -> None:
        """Press Tab until the focus is on what a screen reader calls by this name."""
        for _ in range(limit):
            self.page.keyboard.press("Tab")
            if self.focused().startswith(name):
                return
        raise AssertionError(f"Tab does not reach {name!r} in {limit} steps")

    def focused(self) -> str:
        """The label, or else the text, of what has the focus."""
        return self.page.evaluate(
            """() => {
                const it = document.activeElement;
                const label = it.labels && it.labels[0];
                return (it.getAttribute('aria-label') || (label && label.textContent)
                        || it.textContent || it.placeholder || '').trim();
            }"""
        )

    def sees(self, text: str) -> None:
        """Wait until this text is in the game."""
        found = self.page.locator(".pinlab-game", has_text=text).first
        sync_api.expect(found).to_be_visible(timeout=PATIENCE)

    def overlap(self) -> bool:
        """Whether the text of the two panes runs into one another."""
        host, device = (
            self.page.locator(".pinlab-game h4", has_text=words).first.evaluate(
                "it => { const box = it.closest('.widget-html').getBoundingClientRect();"
                " return [box.left, box.top, box.right, box.bottom]; }"
            )
            for words in ("Host:", "Device queues")
        )
        return host[2] > device[0] + 1 and host[3] > device[1] + 1

    def faint(self) -> list[str]:
        """Text of the game whose contrast to what lies behind it is under 4.5 to 1 (WCAG AA)."""
        return faint(self.page, ".pinlab-game *, .widget-text *, .jupyter-button")

    def picture(self, name: str) -> None:
        """Keep a screenshot of the whole game."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


def open_game(browser: Any, server: str, folder: Path, theme: str, level: int) -> Player:
    """JupyterLab with the game on the screen, started by keyboard."""
    set_theme(folder, theme)
    name = notebook(folder, CELL.format(level=level)).name
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    page.goto(f"{server}/doc/tree/{name}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
    idle = page.locator(".jp-StatusBar-Widget", has_text="Idle")
    if idle.count() == 0:
        idle = page.locator("#jp-main-statusbar", has_text="Idle")
    sync_api.expect(idle.first).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("Control+Enter")
    player = Player(page)
    player.sees("Goal")
    return player


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return request.param


def short(theme: str) -> str:
    return theme.split()[1].lower()


def test_a_level_is_won_and_its_repair_certified_by_keyboard_alone(
    browser: Any, server: str, folder: Path, theme: str
) -> None:
    player = open_game(browser, server, folder, theme, level=1)
    player.tab_to("keys")
    player.press("hh")
    player.sees("upload row → lens, queued by line 3")
    player.picture(f"playing-{short(theme)}")
    player.press("dhh")
    player.sees("reached; now the repaired program: n")
    assert player.focused() == "keys"
    player.press("nc")
    player.sees("repaired: correct in every schedule")
    assert player.focused() == "keys"
    player.picture(f"certified-{short(theme)}")
    assert player.faint() == []


def test_buttons_work_by_enter_keep_the_focus_and_come_with_their_stream(
    browser: Any, server: str, folder: Path, theme: str
) -> None:
    player = open_game(browser, server, folder, theme, level=9)
    player.tab_to("host step (h)")
    for line in range(2, 9):
        player.page.keyboard.press("Enter")
        player.sees(f"line {line} ran")
        assert player.focused() == "host step (h)"
    player.tab_to("device, stream 1 (1)")
    player.page.keyboard.press("Enter")
    player.sees("stream 1 ran mul lens → doubled")
    assert player.focused() == "device, stream 1 (1)"
    player.tab_to("undo (u)")
    player.page.keyboard.press("Enter")
    player.sees("one step back")
    player.tab_to("replay token")
    assert player.page.evaluate("document.activeElement.value") == "h"
    player.page.set_viewport_size({"width": 800, "height": 1300})
    assert not player.overlap()
    player.picture(f"narrow-{short(theme)}")
    assert player.faint() == []


def test_keys_of_the_game_are_not_taken_for_keys_of_the_notebook(
    browser: Any, server: str, folder: Path
) -> None:
    """In JupyterLab's command mode d d deletes a cell, x cuts it, 1 makes it a heading."""
    player = open_game(browser, server, folder, "JupyterLab Light", level=3)
    player.tab_to("keys")
    player.press("ddx1hhdu")
    player.sees("one step back")
    for _ in range(8):
        player.page.keyboard.press("Backspace")
    player.sees("before the first line")
    assert player.focused() == "keys"
    assert player.page.locator(".jp-Notebook .jp-Cell").count() == 1
