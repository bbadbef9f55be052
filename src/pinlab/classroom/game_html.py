"""The game as HTML: the same blocks as the text twin, for the notebook's widget.

Colours come from the notebook's theme, so light and dark are both readable; what a colour says, an
arrow, a word or a star says too.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pinlab.classroom.game_look import Entry, Look
from pinlab.classroom.game_memory import Buffer
from pinlab.classroom.game_rules import KEYS
from pinlab.classroom.game_source import Listing
from pinlab.classroom.game_state import GameState
from pinlab.classroom.game_text import LEGEND, NEXT, NONE, NOT_SHOWN, WITHIN, torn, where_of

STYLE = """<style>
.pinlab-game { color: var(--jp-content-font-color1, inherit); line-height: 1.45;
  font-family: var(--jp-content-font-family, sans-serif); font-size: 14px; max-width: 62rem; }
.pinlab-game h3 { margin: 0 0 .3em; font-size: 1.15em; color: inherit; }
.pinlab-game h4 { margin: .7em 0 .2em; font-size: 1em; color: inherit; }
.pinlab-game p { margin: .2em 0 .5em; }
.pinlab-game code, .pinlab-game pre, .pinlab-game input, .pinlab-game td.code {
  font-family: var(--jp-code-font-family, monospace); font-size: 13px;
  color: inherit; background: transparent; }
.pinlab-game pre { margin: 0; padding: 0; line-height: 1.5; overflow-x: auto; }
.pinlab-game .row { display: block; padding: 0 .5em; white-space: pre;
  border-left: 4px solid transparent; }
.pinlab-game .next { font-weight: bold; background: var(--jp-layout-color2, #eee);
  border-left-color: var(--jp-brand-color1, #1976d2); }
.pinlab-game .within { border-left: 4px dotted var(--jp-brand-color1, #1976d2); }
.pinlab-game table { border-collapse: collapse; margin: 0; color: inherit; }
.pinlab-game th, .pinlab-game td { text-align: left; padding: .1em .8em .1em 0; border: 0;
  vertical-align: baseline; white-space: nowrap; }
.pinlab-game th { font-weight: normal; border-bottom: 1px solid var(--jp-border-color1, #888); }
.pinlab-game td.words { white-space: normal; min-width: 8em; }
.pinlab-game .new { font-weight: bold; text-decoration: underline; }
.pinlab-game .say { border-left: 4px solid var(--jp-brand-color1, #1976d2); padding: .2em .6em;
  background: var(--jp-layout-color2, #eee); }
.pinlab-game .reached { border: 2px solid var(--jp-success-color1, #388e3c); padding: .3em .6em; }
.pinlab-game input { width: 22em; padding: .2em .4em; border: 1px solid
  var(--jp-border-color1, #888); background: var(--jp-layout-color1, #fff); }
</style>"""


def block(*parts: str) -> str:
    """A piece of the game's page."""
    return f'<div class="pinlab-game">{"".join(parts)}</div>'


def head(state: GameState) -> str:
    """Title, what to do, and the goal."""
    rules = state.rules
    which = " (repaired)" if state.repaired else ""
    title = f"<h3>{escape(rules.title or 'The scheduler game')}{which}</h3>"
    text = "".join(f"<p>{escape(part)}</p>" for part in state.introduction.split("\n\n") if part)
    return STYLE + block(title, text, f"<p><b>Goal</b> {escape(str(state.goal))}</p>")


def source(state: GameState) -> str:
    """The listings, the next line marked."""
    return block(*(_listing(one, state.look) for one in state.look.listings))


def _listing(source: Listing, look: Look) -> str:
    innermost = source is look.listings[-1]
    rows = []
    for number, line in source.shown():
        next_ = number == source.next
        whole = innermost and not source.within
        mark = (NEXT if whole else WITHIN) if next_ else NONE
        kind = ("next" if whole else "within") if next_ else ""
        rows.append(_row(f"{mark} {number:3} | {line}", kind, current=next_ and innermost))
    if innermost and source.next is None and not look.over:
        rows.append(_row(f"{NEXT}     | (returned; its value is about to be read)", "next", True))
    if not source.lines:
        rows.append(_row("its source cannot be read", ""))
    return f"<h4>Host: {escape(source.function)}</h4><pre>{''.join(rows)}</pre>"


def _row(text: str, kind: str, current: bool = False) -> str:
    told = ' aria-current="step"' if current else ""
    return f'<span class="row {kind}"{told}>{escape(text)}</span>'


def device(state: GameState) -> str:
    """The queues and the memory."""
    look = state.look
    queues = "".join(_queue(stream, queue) for stream, queue in enumerate(look.queues))
    return block(f"<h4>Device queues</h4><pre>{queues}</pre>", "<h4>Memory</h4>", _memory(look))


def _memory(look: Look) -> str:
    if not look.memory:
        return "<p>no names yet</p>" if not look.over else "<p>the program's names are gone</p>"
    names = ("name", "where", "value", "queued work")
    head_ = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = "".join(map(_buffer, look.memory))
    return (
        f"<table><tr>{head_}</tr>{rows}</table><p><small><code>{escape(LEGEND)}</code></small></p>"
    )


def _queue(stream: int, queue: tuple[Entry, ...]) -> str:
    head_ = f"stream {stream}"
    if not queue:
        return _row(f"{head_}  {NONE} nothing queued", "")
    rows = []
    for entry in queue:
        first = entry is queue[0]
        ready = first and not entry.blocked
        why = f" ({entry.blocked})" if first and entry.blocked else ""
        text = f"{head_ if first else '':{len(head_)}}  {NEXT if ready else NONE} {entry}{why}"
        rows.append(_row(text, "next" if ready else ""))
    return "".join(rows)


def _buffer(row: Buffer) -> str:
    values = " ".join(map(_value, row.marked)) or NOT_SHOWN
    return (
        f'<tr><td class="code">{escape(row.name)}</td>'
        f'<td class="words">{escape(where_of(row))}</td>'
        f'<td class="code">{values}</td><td class="words">{escape(", ".join(row.uses))}</td></tr>'
    )


def _value(text: str) -> str:
    return f'<span class="new">{escape(text)}</span>' if text.endswith("*") else escape(text)


def said(state: GameState) -> str:
    """What the last key did; a screen reader reads it out."""
    kind = "say reached" if state.reached else "say"
    goal = f"<b>Goal</b> {escape(state.verdict)}"
    value = f"Value {escape(repr(state.look.outcome))}<br>" if state.look.over else ""
    return block(f'<p class="{kind}" role="alert">{escape(state.message)}<br>{value}{goal}</p>')


def token(state: GameState) -> str:
    """The replay token in a field that it can be copied from."""
    return block(
        f'<label>Replay token <input readonly aria-label="replay token" '
        f'value="{escape(state.token, quote=True)}"></label>{escape(torn(state))}'
    )


def end(state: GameState) -> str:
    """The certificate, and what the level says afterwards."""
    parts = []
    if state.won:
        parts += [f"<p>{escape(text)}</p>" for text in state.rules.after.split("\n\n") if text]
    if state.report is not None:
        parts.append(f"<h4>Certificate</h4><pre>{escape(state.report.certificate())}</pre>")
    return block(*parts) if parts else ""


def keys() -> str:
    """The list of keys, folded."""
    return block(f"<details><summary>Keys</summary><table>{_keys(KEYS.items())}</table></details>")


def _keys(items: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f'<tr><td class="code">{escape(key)}</td><td>{escape(what)}</td></tr>'
        for key, what in items
    )
